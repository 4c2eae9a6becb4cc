"""The literature's algorithms as their authors count them: for comparison and tracing, never for an update."""
