-- What waits of which only the newest is wanted: also what is to be tried again must not run after a newer one was done.
DROP INDEX {fluens}inbox_latest;
CREATE INDEX {fluens}inbox_latest ON {fluens}inbox (consumer_id, latest, seq)
    WHERE latest IS NOT NULL AND (state = 0 OR state = 2 OR state = 3 OR state = 8);
