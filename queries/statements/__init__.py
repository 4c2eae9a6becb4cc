"""Persistent statements as values: plans, the class of each edge, what is legal, which plans are equal. Pure."""
