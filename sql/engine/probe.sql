-- One probe, over files that all hold all columns: DuckDB then opens one footer to plan and the others to read.
SELECT {columns}
FROM {files}
WHERE {condition} AND valid_until > {as_of}
