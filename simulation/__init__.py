"""The whole service under a seed: API processes, workers and networks in one process, in virtual time, on PostgreSQL."""
