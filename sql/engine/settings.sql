-- GLOBAL, so that cursors have them too. Immutable files make the footer cache safe; the operating system caches
-- their content already, so that handing each small read to a thread of its own costs more than it gains. Python
-- variables and extensions are none of a query's business.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL temp_directory = {spill_folder};
SET GLOBAL parquet_metadata_cache = true;
SET GLOBAL enable_external_file_cache = false;
SET GLOBAL async_threads = 0;
SET GLOBAL python_enable_replacements = false;
SET GLOBAL autoinstall_known_extensions = false;
SET GLOBAL autoload_known_extensions = false;
