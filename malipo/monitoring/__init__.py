"""Monitoring: what the database says about money and queues, for the metrics and alarms. It only reads."""
