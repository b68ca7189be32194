"""The worker: sends what waits, asks about what is open. Any number of them may run on one database."""
