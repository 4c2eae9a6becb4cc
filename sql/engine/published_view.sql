CREATE OR REPLACE VIEW {view} AS
SELECT {columns}
FROM {source}
WHERE valid_until > {as_of};
