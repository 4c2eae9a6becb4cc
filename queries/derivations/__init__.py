"""Archives derived of archives, decided without I/O: what a statement means, and how its rows follow its sources."""
