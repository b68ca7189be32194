"""Recipients: the name behind a phone number, before money is paid to it."""
