"""HTTP to the networks: a client, its transport, one connection for each request, DNS, and XML bodies."""
