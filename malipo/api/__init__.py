"""The HTTP API: routes, request fields, responses, HTTP statuses. The use cases are in other packages."""
