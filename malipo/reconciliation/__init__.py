"""Compares what networks say with what we know: statements, their lines, and how they fit."""
