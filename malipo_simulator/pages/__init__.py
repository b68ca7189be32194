"""The pages of the simulator: phones, the request log, and the table of test numbers."""
