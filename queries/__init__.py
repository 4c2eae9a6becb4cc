"""What standing queries decide: operations, fragments, techniques. Pure; README.md is the catalogue."""
