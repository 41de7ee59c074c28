-- The database itself: who it is, for others that send messages here; and how often its nodes and leases changed, so that
-- an idle node need not read them all to know that nothing did.
CREATE TABLE {fluens}database (
    id          TEXT NOT NULL,
    generation  INTEGER NOT NULL
);
INSERT INTO {fluens}database (id, generation) VALUES (lower(hex(randomblob(16))), 0);

-- Processes that run an app. The id is drawn anew at every start: one that was declared dead comes back as another, and
-- what it still has in its hands is refused.
CREATE TABLE {fluens}node (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    host        TEXT NOT NULL,
    -- Which process of that host: who can see that it is gone need not wait.
    process     TEXT NOT NULL,
    -- What its connections are called: those it leaves behind are ended.
    session     TEXT NOT NULL,
    version     TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    beat_at     INTEGER NOT NULL,
    -- After so many microseconds without a beat others take over.
    lease       INTEGER NOT NULL
);

-- What a node can run: a consumer, its message's names, and the version up to which it reads it.
CREATE TABLE {fluens}node_consumer (
    node_id      INTEGER NOT NULL,
    consumer_id  INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    messages     TEXT NOT NULL,
    PRIMARY KEY (node_id, consumer_id)
) WITHOUT ROWID;

-- Who runs what: a slot of a consumer belongs to one node at a time, or to nobody.
CREATE TABLE {fluens}slot (
    consumer_id    INTEGER NOT NULL,
    slot           INTEGER NOT NULL,
    node_id        INTEGER,
    -- Its owner died: one of the messages up to here may have been the reason.
    suspect_until  INTEGER,
    -- What its next owner should know: a message was met there that a former one does not.
    needs_version  INTEGER NOT NULL DEFAULT 0,
    needs_message  TEXT,
    PRIMARY KEY (consumer_id, slot)
) WITHOUT ROWID;
CREATE INDEX {fluens}slot_node ON {fluens}slot (node_id);

ALTER TABLE {fluens}consumer ADD COLUMN paused_at INTEGER;
-- Another database that messages are carried to: what a relay reads, as people call it.
ALTER TABLE {fluens}consumer ADD COLUMN destination TEXT;
-- Modules all of whose consumers stand still.
CREATE TABLE {fluens}paused_module (
    module     TEXT PRIMARY KEY,
    paused_at  INTEGER NOT NULL
) WITHOUT ROWID;
-- Whether the consumer is a relay: what came from another database is not sent on.
ALTER TABLE {fluens}subscription ADD COLUMN remote INTEGER NOT NULL DEFAULT 0;
-- It came from another database: that it was seen is kept longer than anybody sends it again.
ALTER TABLE {fluens}seen ADD COLUMN afar INTEGER NOT NULL DEFAULT 0;
DROP INDEX {fluens}seen_age;
CREATE INDEX {fluens}seen_age ON {fluens}seen (afar, seen_at);
-- Which relays of other databases deliver here: one that lost its part to a later one is refused.
CREATE TABLE {fluens}source (
    source  TEXT NOT NULL,
    relay   INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    PRIMARY KEY (source, relay)
) WITHOUT ROWID;
-- What was carried to another database, and when. Only ever added to, and deleted by age.
CREATE TABLE {fluens}sent (
    id           INTEGER PRIMARY KEY,
    sent_at      INTEGER NOT NULL,
    message_id   BLOB NOT NULL,
    consumer_id  INTEGER NOT NULL,
    message      TEXT NOT NULL
);
CREATE INDEX {fluens}sent_age ON {fluens}sent (sent_at);

-- state, further: 8 unknown to the node that met it; it holds its key back until one that knows it comes.
-- So often in a row the process ended while it may have been running.
ALTER TABLE {fluens}inbox ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX {fluens}inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3, 7, 8);
DROP INDEX {fluens}inbox_blocking;
CREATE INDEX {fluens}inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 7, 8);
CREATE INDEX {fluens}inbox_unknown ON {fluens}inbox (consumer_id, slot) WHERE state = 8;
-- The slot at its end: what is another node's is stepped over without reading the rows.
DROP INDEX {fluens}inbox_ready;
CREATE INDEX {fluens}inbox_ready ON {fluens}inbox (consumer_id, priority DESC, seq, slot) WHERE state = 0;
