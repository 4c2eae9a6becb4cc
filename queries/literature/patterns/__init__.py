"""Update patterns: engines, operators, windows and synopses of Golab's thesis (Waterloo 2006), chapters 2 and 3."""
