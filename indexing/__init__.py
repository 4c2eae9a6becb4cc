"""The pure core: it decides, and imports the standard library alone."""
