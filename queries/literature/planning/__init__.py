"""Published planning algorithms that no refresh needs."""
