-- probe(k1), probe(k1, k2), …: one form for each number of leading key columns.
CREATE OR REPLACE TEMP MACRO probe {forms}
