"""Spark as a process: Java, jars, the session."""
