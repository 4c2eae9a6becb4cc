"""One file for each operation that ends in one commit."""
