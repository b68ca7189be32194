"""The SQL of accounts: attempts to log in, browsers, places, second factors, resets of credentials."""
