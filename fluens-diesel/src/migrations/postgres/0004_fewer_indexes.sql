-- Every statement that stores or deletes a row opens all indexes of its table, locks them, and makes up its mind about each:
-- one for several questions costs a row as much as one for one. What is expired is among what has ended.
DROP INDEX {fluens}inbox_expired;
-- What becomes due next, failed or published for later; and what the node that met it did not know.
DROP INDEX {fluens}inbox_held;
DROP INDEX {fluens}inbox_scheduled;
DROP INDEX {fluens}inbox_unknown;
CREATE INDEX fluens_inbox_due ON {fluens}inbox (consumer_id, state, due_at) WHERE state IN (1, 2, 8);
-- By its message: is the earlier one of a unique key done? And what is cancelled or moved.
DROP INDEX {fluens}inbox_once;
DROP INDEX {fluens}inbox_planned;
CREATE INDEX fluens_inbox_message ON {fluens}inbox (message_id) WHERE once OR due_at IS NOT NULL;
