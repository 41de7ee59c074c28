-- What waits of which only the newest is wanted: also what is to be tried again must not run after a newer one was done.
DROP INDEX {fluens}inbox_latest;
CREATE INDEX fluens_inbox_latest ON {fluens}inbox (consumer_id, latest, seq)
    WHERE latest IS NOT NULL AND state IN (0, 2, 3, 8);
