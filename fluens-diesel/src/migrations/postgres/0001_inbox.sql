-- Consumers by id; every name a consumer has or had leads to its id, so a renamed one keeps its rows.
CREATE TABLE {fluens}consumer (
    id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    module  text NOT NULL,
    -- It turned out to be the same as another one.
    merged_into  integer REFERENCES {fluens}consumer (id)
);
CREATE TABLE {fluens}consumer_name (
    name         text PRIMARY KEY,
    consumer_id  integer NOT NULL REFERENCES {fluens}consumer (id)
);

-- Who gets what. Durable: publishing reads it, so a process that links no consumer reaches all of them.
CREATE TABLE {fluens}subscription (
    message      text NOT NULL,
    consumer_id  integer NOT NULL REFERENCES {fluens}consumer (id),
    PRIMARY KEY (message, consumer_id)
);

-- One row per message and consumer; the acknowledgement deletes it. Wide columns first: no padding.
-- state: 0 ready, 1 scheduled, 2 held (failed, waits for its next attempt), 3 behind a held row, 4 expired.
CREATE SEQUENCE {fluens}inbox_seq;
CREATE TABLE {fluens}inbox (
    seq           bigint PRIMARY KEY DEFAULT nextval('{fluens}inbox_seq'),
    key_hash      bigint,
    published_at  timestamptz NOT NULL,
    due_at        timestamptz,
    expires_at    timestamptz,
    message_id    uuid NOT NULL,
    consumer_id   integer NOT NULL,
    version       integer NOT NULL,
    attempt       integer NOT NULL DEFAULT 0,
    slot          smallint NOT NULL,
    priority      smallint NOT NULL,
    state         smallint NOT NULL,
    message       text NOT NULL,
    envelope      bytea NOT NULL,
    payload       bytea NOT NULL,
    error         text
);
ALTER SEQUENCE {fluens}inbox_seq OWNED BY {fluens}inbox.seq;

-- The line: what a fetch walks, slot by slot and priority by priority.
CREATE INDEX fluens_inbox_ready ON {fluens}inbox (consumer_id, slot, priority, seq) WHERE state = 0;
-- Which keys are held back, and what waits behind them.
CREATE INDEX fluens_inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq) WHERE state IN (2, 3);
-- What becomes due next: failed ones, and those published for later.
CREATE INDEX fluens_inbox_held ON {fluens}inbox (consumer_id, due_at) WHERE state = 2;
CREATE INDEX fluens_inbox_scheduled ON {fluens}inbox (consumer_id, due_at) WHERE state = 1;

-- Ids given by callers: published twice under one id is one message.
CREATE TABLE {fluens}seen (
    message_id  uuid PRIMARY KEY,
    seen_at     timestamptz NOT NULL
);
