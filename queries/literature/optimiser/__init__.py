"""Static optimisation of window joins, and random drops where no plan fits (Ayad and Naughton, SIGMOD 2004)."""
