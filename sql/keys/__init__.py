"""Keys: the conditions of probes, Bloom filters, and the order of files."""
