-- The time to live stands still with its consumer: what has one is found with what becomes due, so that to go on reads that,
-- and not all that waits. One index more would cost every row that is stored.
DROP INDEX {fluens}inbox_due;
CREATE INDEX fluens_inbox_due ON {fluens}inbox (consumer_id, state, due_at)
    WHERE state IN (1, 2, 8) OR expires_at IS NOT NULL;
