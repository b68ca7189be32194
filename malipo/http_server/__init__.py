"""The HTTP server: the API and the dashboard on one port."""
