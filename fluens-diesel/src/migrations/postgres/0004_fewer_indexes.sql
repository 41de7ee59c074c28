-- Every statement that stores or deletes a row opens all indexes of its table, and makes up its mind about each. What is
-- expired is among what has ended.
DROP INDEX {fluens}inbox_expired;
