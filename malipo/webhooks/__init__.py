"""Webhooks: endpoints, deliveries, signatures, retries, and the HTTP client with its SSRF guard."""
