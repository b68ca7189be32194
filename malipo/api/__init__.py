"""The HTTP API: routes, fields, statuses. The work is done behind it."""
