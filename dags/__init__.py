"""When: one Airflow DAG per archive file."""
