"""What should have happened by now, and who is told."""
