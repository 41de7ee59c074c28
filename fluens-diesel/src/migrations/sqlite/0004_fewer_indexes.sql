-- Of every row that is stored or deleted SQLite asks for each index whether the row is in it: one for several questions costs
-- as much as one for one. What is expired is among what has ended.
DROP INDEX {fluens}inbox_expired;
-- What becomes due next, failed or published for later; and what the node that met it did not know. A condition with more
-- than two values in a list is a table that SQLite fills anew for every row; with OR it compares.
DROP INDEX {fluens}inbox_held;
DROP INDEX {fluens}inbox_scheduled;
DROP INDEX {fluens}inbox_unknown;
CREATE INDEX {fluens}inbox_due ON {fluens}inbox (consumer_id, state, due_at)
    WHERE state = 1 OR state = 2 OR state = 8;
-- By its message: is the earlier one of a unique key done? And what is cancelled or moved.
DROP INDEX {fluens}inbox_once;
DROP INDEX {fluens}inbox_planned;
CREATE INDEX {fluens}inbox_message ON {fluens}inbox (message_id) WHERE once OR due_at IS NOT NULL;
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX {fluens}inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq)
    WHERE state = 2 OR state = 3 OR state = 7 OR state = 8;
DROP INDEX {fluens}inbox_blocking;
CREATE INDEX {fluens}inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq)
    WHERE state = 2 OR state = 7 OR state = 8;
