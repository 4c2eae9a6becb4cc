-- Every record in the files, whether alive or not, with the table's columns: an older file may lack a newer column.
SELECT {columns}
FROM (
    SELECT {empty_columns} WHERE false
    UNION ALL BY NAME
    SELECT * FROM {files}
)
