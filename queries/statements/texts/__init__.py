"""Query texts of the literature, read as statements: CQL, GSQL's merge, StreaQuel's loop, COUGAR, Aurora's boxes."""
