"""Answers of standing queries, folded from partials: in SQL, by kernels or by a technique."""
