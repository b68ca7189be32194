"""Decides what a network's answer changes: the status, the next query or sending, and whether operators must look."""
