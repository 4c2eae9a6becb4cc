"""Start-up times, long runs and Airflow's part."""
