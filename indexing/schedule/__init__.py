"""The schedule of an archive: its cron texts, checked without a scheduler, and the moments of its runs."""
