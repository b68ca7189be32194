"""The dashboard: pages for merchants and operators, rendered on the server, usable without JavaScript."""
