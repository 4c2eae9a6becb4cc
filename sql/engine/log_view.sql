-- The log is read for each query: the newest checkpoint and the entries after it name the files and the watermark.
-- DuckDB lists folders in the order in which they first stand here: entries before they are read, the log before the
-- files, so that whatever is named is there, also while somebody commits.
CREATE OR REPLACE VIEW {view} AS
WITH newest AS MATERIALIZED (
    SELECT max(file) AS file, CAST(left(parse_filename(max(file)), 20) AS BIGINT) AS version
    FROM glob({checkpoints})
), entries AS MATERIALIZED (
    SELECT file, CAST(left(parse_filename(file), 20) AS BIGINT) AS version
    FROM glob({entries})
    WHERE CAST(left(parse_filename(file), 20) AS BIGINT) > (SELECT newest.version FROM newest)
), actions AS MATERIALIZED (
    SELECT newest.version, add.path AS added, NULL AS removed, txn.appId AS app, txn.version AS number
    FROM newest JOIN read_parquet({checkpoints}, union_by_name = true, filename = 'entry') ON entry = newest.file
    UNION ALL
    SELECT entries.version, add.path, remove.path, txn.appId, txn.version
    FROM entries JOIN read_json({entries}, format = 'newline_delimited', filename = 'entry', columns = {{
        add: 'STRUCT(path VARCHAR)', remove: 'STRUCT(path VARCHAR)', txn: 'STRUCT(appId VARCHAR, version BIGINT)'
    }}) ON entry = entries.file
), log AS MATERIALIZED (
    SELECT CASE
        WHEN count(DISTINCT version) = 1 + greatest(max(version), (SELECT max(version) FROM entries)) - min(version)
            AND min(version) = (SELECT newest.version FROM newest)
        THEN max_by(nullif(number, 0), version) FILTER (app = {watermark_id})
        ELSE error({broken}) END AS watermark
    FROM actions
), named AS (
    SELECT {root} || url_decode(coalesce(added, removed)) AS file
    FROM actions
    WHERE coalesce(added, removed) IS NOT NULL
    GROUP BY ALL
    HAVING max_by(added IS NOT NULL, version)
), alive AS MATERIALIZED (
    SELECT
        CASE WHEN there.file IS NULL THEN error({missing} || named.file) ELSE named.file END AS file,
        (
            SELECT {as_of}
            FROM (SELECT make_timestamptz({epoch_us} + (watermark - {offset}) * {interval_us}) AS ended FROM log)
        ) AS as_of
    FROM named LEFT JOIN glob({files}) AS there ON there.file = named.file
)
SELECT {columns}
FROM ({stored})
WHERE (SELECT coalesce(watermark, 0) FROM log) >= 0;
