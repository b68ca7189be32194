"""HTTP for the API and the pages: request ids, client addresses, languages, limits of bodies."""
