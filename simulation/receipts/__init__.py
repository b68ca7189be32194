"""The receipt log in the simulation: somebody who keeps what was published, and what must be true of it in the end."""
