"""Work done in this process, by DuckDB and Arrow: no Spark, no Java."""
