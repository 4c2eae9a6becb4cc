"""Do: Spark carries out plans, delta-rs commits them."""
