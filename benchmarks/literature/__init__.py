"""What the literature is known for, row by row: each row says what was published, and computes what comes out here."""
