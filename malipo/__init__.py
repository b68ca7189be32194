"""malipo: mobile-money payments for Tanzania, on PostgreSQL alone."""

__version__ = "0.4.0"
