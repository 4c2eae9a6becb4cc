"""Archives as pages for people who operate them: HTML and SVG made here, from values that were read elsewhere."""
