"""The race of standing queries: after each slot all due answers, ours and those of what people use."""
