"""TOML pages whose keys stand in a table: read with the lines of all faults, written as a manual."""
