"""Airflow on one machine and streams that are made up: for `make airflow`, Compose's demo, tests and benchmarks."""
