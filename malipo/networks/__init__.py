"""The mobile-money networks: a connector for each, routing, and the HTTP client."""
