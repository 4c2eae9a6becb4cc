"""Standing queries: what a file asks for, which partials serve it, what is stale, what an answer covers."""
