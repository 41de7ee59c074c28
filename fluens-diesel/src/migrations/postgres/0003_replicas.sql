-- The database itself: who it is, for others that send messages here; and how often its nodes and leases changed, so that
-- an idle node need not read them all to know that nothing did.
CREATE TABLE {fluens}database (
    id          text NOT NULL,
    generation  bigint NOT NULL
);
INSERT INTO {fluens}database (id, generation) VALUES (gen_random_uuid(), 0);

-- Processes that run an app. The id is drawn anew at every start: one that was declared dead comes back as another, and
-- what it still has in its hands is refused.
CREATE TABLE {fluens}node (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    host        text NOT NULL,
    -- Which process of that host: who can see that it is gone need not wait.
    process     text NOT NULL,
    -- What its connections are called: those it leaves behind are ended.
    session     text NOT NULL,
    version     text NOT NULL,
    started_at  timestamptz NOT NULL,
    beat_at     timestamptz NOT NULL,
    -- After so many microseconds without a beat others take over.
    lease       bigint NOT NULL
);

-- What a node can run: a consumer, its message's names, and the version up to which it reads it.
CREATE TABLE {fluens}node_consumer (
    node_id      bigint NOT NULL REFERENCES {fluens}node (id) ON DELETE CASCADE,
    consumer_id  integer NOT NULL,
    version      integer NOT NULL,
    messages     text NOT NULL,
    PRIMARY KEY (node_id, consumer_id)
);

-- Who runs what: a slot of a consumer belongs to one node at a time, or to nobody.
CREATE TABLE {fluens}slot (
    consumer_id    integer NOT NULL,
    slot           smallint NOT NULL,
    node_id        bigint,
    -- Its owner died: one of the messages up to here may have been the reason.
    suspect_until  bigint,
    -- What its next owner should know: a message was met there that a former one does not.
    needs_version  integer NOT NULL DEFAULT 0,
    needs_message  text,
    PRIMARY KEY (consumer_id, slot)
);
CREATE INDEX fluens_slot_node ON {fluens}slot (node_id);

ALTER TABLE {fluens}consumer
    ADD COLUMN paused_at    timestamptz,
    -- Another database that messages are carried to: what a relay reads, as people call it.
    ADD COLUMN destination  text;
-- Modules all of whose consumers stand still.
CREATE TABLE {fluens}paused_module (
    module     text PRIMARY KEY,
    paused_at  timestamptz NOT NULL
);
-- Whether the consumer is a relay: what came from another database is not sent on.
ALTER TABLE {fluens}subscription ADD COLUMN remote boolean NOT NULL DEFAULT false;
-- It came from another database: that it was seen is kept longer than anybody sends it again.
ALTER TABLE {fluens}seen ADD COLUMN afar boolean NOT NULL DEFAULT false;
DROP INDEX {fluens}seen_age;
CREATE INDEX fluens_seen_age ON {fluens}seen (afar, seen_at);
-- Which relays of other databases deliver here: one that lost its part to a later one is refused.
CREATE TABLE {fluens}source (
    source  text NOT NULL,
    relay   integer NOT NULL,
    epoch   bigint NOT NULL,
    PRIMARY KEY (source, relay)
);
-- What was carried to another database, and when. Only ever added to, and deleted by age.
CREATE TABLE {fluens}sent (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sent_at      timestamptz NOT NULL,
    message_id   uuid NOT NULL,
    consumer_id  integer NOT NULL,
    message      text NOT NULL
);
CREATE INDEX fluens_sent_age ON {fluens}sent (sent_at);

-- state, further: 8 unknown to the node that met it; it holds its key back until one that knows it comes.
ALTER TABLE {fluens}inbox
    -- So often in a row the process ended while it may have been running.
    ADD COLUMN deaths  smallint NOT NULL DEFAULT 0;
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX fluens_inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3, 7, 8);
DROP INDEX {fluens}inbox_blocking;
CREATE INDEX fluens_inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 7, 8);
CREATE INDEX fluens_inbox_unknown ON {fluens}inbox (consumer_id, slot) WHERE state = 8;
