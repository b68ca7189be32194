"""The calls of the API, by subject. Each is described once, for both clients."""
