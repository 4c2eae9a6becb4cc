-- probe_range(low, high): the first key column in [low, high); NULL is no bound.
CREATE OR REPLACE TEMP MACRO probe_range(range_low, range_high) AS TABLE
SELECT * FROM live
WHERE (range_low IS NULL OR {column} >= range_low) AND (range_high IS NULL OR {column} < range_high)
