"""The webhooks' SQL."""
