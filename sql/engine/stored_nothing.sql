-- The table's columns when there is no file to read.
SELECT {empty_columns} WHERE false
