-- The same under a dotted name: DuckDB keeps temporary views in one schema only, so this one belongs to the sandbox.
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE OR REPLACE VIEW {schema}.{view} AS {select}
