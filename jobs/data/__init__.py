"""Spark on rows: source, judgement, writing."""
