"""HTTP to the networks: a client, its transport, one connection for each request, and DNS."""
