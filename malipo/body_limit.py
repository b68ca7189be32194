"""How large the body of a request may be, on every route and page.

The HTTP protocol waits for a body up to this size before the application begins, and the application takes none that is
larger. So nobody can withhold a body that would still be taken.
"""

MOST_BODY_BYTES = 64 * 1024
