"""Aggregates over window joins, stored by when results expire: BIJ, IJ, RJ and their generalised forms."""
