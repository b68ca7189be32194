"""Exceptions of reconciliation: what operators may decide about each, and what a decision does."""
