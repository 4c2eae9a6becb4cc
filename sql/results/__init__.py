"""Results of reads: rows, frames, files and streams."""
