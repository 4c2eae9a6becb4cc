"""Servers, browsers and processes for tests."""
