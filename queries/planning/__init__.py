"""The choice of queries that share partials: edges counted exactly, costs, and planners that choose trees by them."""
