"""Plans that give the same answers: rules R1 to R9 of Golab, Waterloo 2006, chapter 3, each with its condition."""
