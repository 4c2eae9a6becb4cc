"""The operator page under Airflow's address."""
