"""Validation of request fields, for the API and the dashboard."""
