"""The simulation's own parts, and the simulation itself on some seeds."""
