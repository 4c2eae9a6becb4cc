"""The tasks of the DAGs, and what they report."""
