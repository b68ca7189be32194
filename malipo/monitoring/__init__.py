"""Monitoring: gauges of money and queues from the database, for metrics and alerts. It only reads."""
