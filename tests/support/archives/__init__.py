"""Archives for tests, and what lies in them."""
