-- A view that ad-hoc SQL asks; it belongs to one connection.
CREATE OR REPLACE TEMP VIEW {view} AS {select}
