"""What all benchmarks share: races, results, the page."""
