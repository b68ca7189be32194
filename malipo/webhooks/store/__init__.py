"""SQL of webhooks."""
