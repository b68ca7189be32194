"""`bench webhooks`: deliveries, and what slow receivers cost the others."""
