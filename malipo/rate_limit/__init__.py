"""Rate limits: how many requests an API key or a person may make in a minute."""
