"""Execution with Spark: Spark carries out plans, delta-rs commits them."""
