"""What a merchant's people see: pages, drawn on the server, that work without JavaScript."""
