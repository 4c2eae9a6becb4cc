"""Records beside an archive: the quarantine, and what came and was not stored."""
