-- For a connection that is handed out: its owner may load and join what they like.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL parquet_metadata_cache = true;
