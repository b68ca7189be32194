"""The whole service under a seed: processes and networks in one loop, in virtual time, on PostgreSQL."""
