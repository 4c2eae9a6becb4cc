"""Summaries of slots that serve many queries, and which queries may share them."""
