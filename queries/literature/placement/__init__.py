"""Planners for several nodes: which trees, and which node each of them runs on."""
