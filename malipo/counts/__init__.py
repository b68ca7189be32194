"""Rollup counts of what is in a long row of things, so that nobody has to count them again."""
