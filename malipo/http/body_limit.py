"""How large the body of a request may be, on every route and page.

The HTTP protocol waits for a body up to this size before the application begins, and the application accepts none that
is larger. So no client can keep the application waiting for a body that it would accept.
"""

MOST_BODY_BYTES = 64 * 1024

# For the route that creates a batch, which may have thousands of items. The route starts before its body is complete,
# as an upload does. That is harmless: no money moves before the batch is approved.
MOST_BATCH_BYTES = 2 * 1024 * 1024
