-- A condition with more than two values in a list is a table that SQLite fills anew for every row it stores or deletes, to
-- learn that the row is in neither index. With OR it compares.
DROP INDEX {fluens}inbox_waiting;
CREATE INDEX {fluens}inbox_waiting ON {fluens}inbox (consumer_id, key_hash, seq)
    WHERE state = 2 OR state = 3 OR state = 7 OR state = 8;
DROP INDEX {fluens}inbox_blocking;
CREATE INDEX {fluens}inbox_blocking ON {fluens}inbox (consumer_id, key_hash, seq)
    WHERE state = 2 OR state = 7 OR state = 8;
