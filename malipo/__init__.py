"""malipo: mobile-money payments for Tanzania, on PostgreSQL alone."""
