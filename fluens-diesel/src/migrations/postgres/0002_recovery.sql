-- Only columns that may be left out, tables and indexes: a node of version 1 still works beside this.

-- What it is called now; of its names it may have had some before.
ALTER TABLE {fluens}consumer ADD COLUMN name text;

-- Ids given by callers are forgotten by age.
CREATE INDEX fluens_seen_age ON {fluens}seen (seen_at);

-- state, further: 5 cancelled, 6 superseded by a newer one, 7 parked: dead, and in its place to hold its key back.
ALTER TABLE {fluens}inbox
    -- So many attempts no longer count: it was replayed since.
    ADD COLUMN forgiven  integer NOT NULL DEFAULT 0,
    -- While it is not done, no other one of its unique key is published.
    ADD COLUMN once      boolean NOT NULL DEFAULT false,
    -- The hash of the key of which only the newest is wanted.
    ADD COLUMN latest    bigint,
    -- When it expired, was cancelled or superseded.
    ADD COLUMN ended_at  timestamptz,
    -- The attempts that failed.
    ADD COLUMN history   text;
UPDATE {fluens}inbox SET ended_at = expires_at WHERE state = 4;

-- Parked rows hold keys back like held ones. The condition covers the former one: old nodes find their way here too.
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX fluens_inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3, 7);
-- What holds a key back, without the many that may wait behind it; and those alone.
CREATE INDEX fluens_inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 7);
CREATE INDEX fluens_inbox_behind ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state = 3;
-- Is there a newer one?
CREATE INDEX fluens_inbox_latest ON {fluens}inbox (consumer_id, latest, seq) WHERE latest IS NOT NULL AND state = 0;
-- Is the earlier one of a unique key done?
CREATE INDEX fluens_inbox_once ON {fluens}inbox (message_id) WHERE once;
-- What is cancelled or moved is mostly published for later, and may be due already.
CREATE INDEX fluens_inbox_planned ON {fluens}inbox (message_id) WHERE due_at IS NOT NULL;
CREATE INDEX fluens_inbox_expired ON {fluens}inbox (seq) WHERE state = 4;
CREATE INDEX fluens_inbox_ended ON {fluens}inbox (ended_at) WHERE ended_at IS NOT NULL;

-- Deliveries that were given up: all that is needed to look at one, and to put it back into its place.
-- holds_back: 0 nothing, 1 its key, 2 its slot. state: 0 dead, 1 replayed, 2 discarded.
CREATE TABLE {fluens}dead_letter (
    id            uuid PRIMARY KEY,
    seq           bigint NOT NULL,
    key_hash      bigint,
    latest        bigint,
    published_at  timestamptz NOT NULL,
    expires_at    timestamptz,
    died_at       timestamptz NOT NULL,
    settled_at    timestamptz,
    message_id    uuid NOT NULL,
    consumer_id   integer NOT NULL,
    version       integer NOT NULL,
    attempts      integer NOT NULL,
    slot          smallint NOT NULL,
    priority      smallint NOT NULL,
    holds_back    smallint NOT NULL,
    state         smallint NOT NULL DEFAULT 0,
    once          boolean NOT NULL,
    message       text NOT NULL,
    key           text,
    code          text NOT NULL,
    error_type    text NOT NULL,
    error         text NOT NULL,
    fingerprint   text NOT NULL,
    history       text NOT NULL,
    reason        text,
    envelope      bytea NOT NULL,
    payload       bytea NOT NULL
);
-- The youngest first, of all and of one consumer.
CREATE INDEX fluens_dead_letter_age ON {fluens}dead_letter (died_at, id);
CREATE INDEX fluens_dead_letter_consumer ON {fluens}dead_letter (consumer_id, died_at, id);
CREATE INDEX fluens_dead_letter_fingerprint ON {fluens}dead_letter (fingerprint, died_at, id);
-- Since when is something held back?
CREATE INDEX fluens_dead_letter_holding ON {fluens}dead_letter (consumer_id, slot) WHERE state = 0 AND holds_back > 0;
CREATE INDEX fluens_dead_letter_settled ON {fluens}dead_letter (settled_at) WHERE settled_at IS NOT NULL;

-- Slots that stand still until somebody decides about a dead letter; several may stop one slot.
CREATE TABLE {fluens}halted (
    consumer_id  integer NOT NULL,
    slot         smallint NOT NULL,
    letter_id    uuid NOT NULL,
    PRIMARY KEY (consumer_id, slot, letter_id)
);

-- Messages that are published once: until then, or until the one named here is done.
CREATE TABLE {fluens}unique_key (
    message     text NOT NULL,
    key         text NOT NULL,
    until       timestamptz,
    message_id  uuid NOT NULL,
    PRIMARY KEY (message, key)
);
CREATE INDEX fluens_unique_key_until ON {fluens}unique_key (until) WHERE until IS NOT NULL;

-- Messages that are published again and again; whoever moves next_at on publishes one.
CREATE TABLE {fluens}recurring (
    module      text NOT NULL,
    message     text NOT NULL,
    expression  text NOT NULL,
    next_at     timestamptz NOT NULL,
    seen_at     timestamptz NOT NULL,
    PRIMARY KEY (module, message, expression)
);

-- What was consumed. Only ever added to, and deleted by age.
CREATE TABLE {fluens}history (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    published_at  timestamptz NOT NULL,
    done_at       timestamptz NOT NULL,
    message_id    uuid NOT NULL,
    consumer_id   integer NOT NULL,
    attempts      integer NOT NULL,
    message       text NOT NULL
);
CREATE INDEX fluens_history_age ON {fluens}history (done_at);
