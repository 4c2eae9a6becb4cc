"""The fast folds: all partials of many windows at once, as arrays. What they must equal is in the room above."""
