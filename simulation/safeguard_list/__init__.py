"""The safeguards that the simulation takes out: where each stands, and what stands there without it."""
