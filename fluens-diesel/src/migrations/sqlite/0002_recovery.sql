-- Only columns that may be left out, tables and indexes: a node of version 1 still works beside this.

-- What it is called now; of its names it may have had some before.
ALTER TABLE {fluens}consumer ADD COLUMN name TEXT;

-- Ids given by callers are forgotten by age.
CREATE INDEX {fluens}seen_age ON {fluens}seen (seen_at);

-- state, further: 5 cancelled, 6 superseded by a newer one, 7 parked: dead, and in its place to hold its key back.
-- So many attempts no longer count: it was replayed since.
ALTER TABLE {fluens}inbox ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0;
-- While it is not done, no other one of its unique key is published.
ALTER TABLE {fluens}inbox ADD COLUMN once INTEGER NOT NULL DEFAULT 0;
-- The hash of the key of which only the newest is wanted.
ALTER TABLE {fluens}inbox ADD COLUMN latest INTEGER;
-- When it expired, was cancelled or superseded.
ALTER TABLE {fluens}inbox ADD COLUMN ended_at INTEGER;
-- The attempts that failed.
ALTER TABLE {fluens}inbox ADD COLUMN history TEXT;
UPDATE {fluens}inbox SET ended_at = expires_at WHERE state = 4;

-- Parked rows hold keys back like held ones.
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX {fluens}inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3, 7);
-- What holds a key back, without the many that may wait behind it; and those alone.
CREATE INDEX {fluens}inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 7);
CREATE INDEX {fluens}inbox_behind ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state = 3;
-- Is there a newer one?
CREATE INDEX {fluens}inbox_latest ON {fluens}inbox (consumer_id, latest, seq) WHERE latest IS NOT NULL AND state = 0;
-- Is the earlier one of a unique key done?
CREATE INDEX {fluens}inbox_once ON {fluens}inbox (message_id) WHERE once;
-- What is cancelled or moved is mostly published for later, and may be due already.
CREATE INDEX {fluens}inbox_planned ON {fluens}inbox (message_id) WHERE due_at IS NOT NULL;
CREATE INDEX {fluens}inbox_expired ON {fluens}inbox (seq) WHERE state = 4;
CREATE INDEX {fluens}inbox_ended ON {fluens}inbox (ended_at) WHERE ended_at IS NOT NULL;

-- Deliveries that were given up: all that is needed to look at one, and to put it back into its place.
-- holds_back: 0 nothing, 1 its key, 2 its slot. state: 0 dead, 1 replayed, 2 discarded.
CREATE TABLE {fluens}dead_letter (
    id            BLOB PRIMARY KEY,
    seq           INTEGER NOT NULL,
    key_hash      INTEGER,
    latest        INTEGER,
    published_at  INTEGER NOT NULL,
    expires_at    INTEGER,
    died_at       INTEGER NOT NULL,
    settled_at    INTEGER,
    message_id    BLOB NOT NULL,
    consumer_id   INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    slot          INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    holds_back    INTEGER NOT NULL,
    state         INTEGER NOT NULL DEFAULT 0,
    once          INTEGER NOT NULL,
    message       TEXT NOT NULL,
    key           TEXT,
    code          TEXT NOT NULL,
    error_type    TEXT NOT NULL,
    error         TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    history       TEXT NOT NULL,
    reason        TEXT,
    envelope      BLOB NOT NULL,
    payload       BLOB NOT NULL
);
-- The youngest first, of all and of one consumer.
CREATE INDEX {fluens}dead_letter_age ON {fluens}dead_letter (died_at, id);
CREATE INDEX {fluens}dead_letter_consumer ON {fluens}dead_letter (consumer_id, died_at, id);
CREATE INDEX {fluens}dead_letter_fingerprint ON {fluens}dead_letter (fingerprint, died_at, id);
-- Since when is something held back?
CREATE INDEX {fluens}dead_letter_holding ON {fluens}dead_letter (consumer_id, slot) WHERE state = 0 AND holds_back > 0;
CREATE INDEX {fluens}dead_letter_settled ON {fluens}dead_letter (settled_at) WHERE settled_at IS NOT NULL;

-- Slots that stand still until somebody decides about a dead letter; several may stop one slot.
CREATE TABLE {fluens}halted (
    consumer_id  INTEGER NOT NULL,
    slot         INTEGER NOT NULL,
    letter_id    BLOB NOT NULL,
    PRIMARY KEY (consumer_id, slot, letter_id)
) WITHOUT ROWID;

-- Messages that are published once: until then, or until the one named here is done.
CREATE TABLE {fluens}unique_key (
    message     TEXT NOT NULL,
    key         TEXT NOT NULL,
    until       INTEGER,
    message_id  BLOB NOT NULL,
    PRIMARY KEY (message, key)
) WITHOUT ROWID;
CREATE INDEX {fluens}unique_key_until ON {fluens}unique_key (until) WHERE until IS NOT NULL;

-- Messages that are published again and again; whoever moves next_at on publishes one.
CREATE TABLE {fluens}recurring (
    module      TEXT NOT NULL,
    message     TEXT NOT NULL,
    expression  TEXT NOT NULL,
    next_at     INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    PRIMARY KEY (module, message, expression)
) WITHOUT ROWID;

-- What was consumed. Only ever added to, and deleted by age.
CREATE TABLE {fluens}history (
    id            INTEGER PRIMARY KEY,
    published_at  INTEGER NOT NULL,
    done_at       INTEGER NOT NULL,
    message_id    BLOB NOT NULL,
    consumer_id   INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    message       TEXT NOT NULL
);
CREATE INDEX {fluens}history_age ON {fluens}history (done_at);
