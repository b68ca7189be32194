"""Rate limits: how many requests a minute an API key may make."""
