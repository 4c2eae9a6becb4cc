"""The demonstration: `tidewheel demo`."""
