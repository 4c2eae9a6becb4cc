"""Vacuum deletes what no reader needs any more."""
