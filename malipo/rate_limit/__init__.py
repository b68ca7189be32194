"""Rate limits: how many requests an API key or a person may make in a minute.

The numbers are settings: `rate_limit_…` in `settings/settings.py`.
"""
