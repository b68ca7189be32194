"""The worker: sends payments and webhooks, queries open payments, prunes. Several may run on one database."""
