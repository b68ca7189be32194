"""How large the body of a request may be, on every route and page.

The HTTP protocol waits for a body up to this size before the application begins, and the application takes none that is
larger. So nobody can withhold a body that would still be taken.
"""

MOST_BODY_BYTES = 64 * 1024

# Of the route that makes a batch, which may have thousands of items. It begins before its body is there, as an upload.
# That is harmless: nothing moves before the batch is approved.
MOST_BATCH_BYTES = 2 * 1024 * 1024
