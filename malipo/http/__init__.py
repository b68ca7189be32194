"""What the API and the pages share of HTTP: request ids, client addresses, languages, limits of bodies."""
