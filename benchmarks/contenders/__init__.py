"""The contenders, one file each; `catalogue` knows them by name."""
