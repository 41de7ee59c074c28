-- Consumers by id; every name a consumer has or had leads to its id, so a renamed one keeps its rows.
CREATE TABLE {fluens}consumer (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    module  TEXT NOT NULL,
    -- It turned out to be the same as another one.
    merged_into  INTEGER REFERENCES {fluens}consumer (id)
);
CREATE TABLE {fluens}consumer_name (
    name         TEXT PRIMARY KEY,
    consumer_id  INTEGER NOT NULL REFERENCES {fluens}consumer (id)
) WITHOUT ROWID;

-- Who gets what. Durable: publishing reads it, so a process that links no consumer reaches all of them.
CREATE TABLE {fluens}subscription (
    message      TEXT NOT NULL,
    consumer_id  INTEGER NOT NULL REFERENCES {fluens}consumer (id),
    PRIMARY KEY (message, consumer_id)
) WITHOUT ROWID;

-- One row per message and consumer; the acknowledgement deletes it. Times are microseconds since 1970.
-- AUTOINCREMENT: without it the place of a deleted row would be given away again.
-- state: 0 ready, 1 scheduled, 2 held (failed, waits for its next attempt), 3 behind a held row, 4 expired.
CREATE TABLE {fluens}inbox (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    key_hash      INTEGER,
    published_at  INTEGER NOT NULL,
    due_at        INTEGER,
    expires_at    INTEGER,
    message_id    BLOB NOT NULL,
    consumer_id   INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    attempt       INTEGER NOT NULL DEFAULT 0,
    slot          INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    message       TEXT NOT NULL,
    envelope      BLOB NOT NULL,
    payload       BLOB NOT NULL,
    error         TEXT
);

-- The line. One process owns it all here, so slots do not lead.
CREATE INDEX {fluens}inbox_ready ON {fluens}inbox (consumer_id, priority DESC, seq) WHERE state = 0;
-- Which keys are held back, and what waits behind them.
CREATE INDEX {fluens}inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3);
-- What becomes due next: failed ones, and those published for later.
CREATE INDEX {fluens}inbox_held ON {fluens}inbox (consumer_id, due_at) WHERE state = 2;
CREATE INDEX {fluens}inbox_scheduled ON {fluens}inbox (consumer_id, due_at) WHERE state = 1;

-- Ids given by callers: published twice under one id is one message.
CREATE TABLE {fluens}seen (
    message_id  BLOB PRIMARY KEY,
    seen_at     INTEGER NOT NULL
) WITHOUT ROWID;
