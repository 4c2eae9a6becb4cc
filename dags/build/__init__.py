"""From archive files to DAGs."""
