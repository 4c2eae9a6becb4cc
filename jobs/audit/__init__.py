"""Audit: every claim of the ledger against the files."""
