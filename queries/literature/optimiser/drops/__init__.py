"""Random drop boxes: how much of each stream to keep where even the cheapest plan does not fit."""
