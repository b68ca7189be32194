"""Rate limits: how many requests an API key may make in a minute."""
