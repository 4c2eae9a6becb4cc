"""Stream archives in Delta tables in which every record has its own expiry."""
