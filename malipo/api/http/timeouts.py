"""How long is waited for a client, on every route: for a head, a body, a pause between requests, and for its reading.

A slow head closes the connection. A slow body is answered with 408 `body_too_slow`, and then closes it. Who does not
read an answer is cut off.
"""

HEAD_SECONDS = 30.0
BODY_SECONDS = 30.0
# Longer than clients and proxies keep theirs, so that a payment is never sent on a connection that we are just closing.
KEEP_ALIVE_SECONDS = 75
# Time in which a client must read as many bytes of a waiting answer, or all of it.
WRITE_SECONDS = 60.0
LEAST_READ_BYTES = 16 * 1024
# When the server stops: for requests that are under way.
STOP_SECONDS = 15
# When the server stops: for a request that a client sends before it can know. On a mobile network a request takes 0.1 s
# and more to arrive, and a busy client reads late that its connection is closed.
LAST_REQUEST_SECONDS = 0.5
# The same for trusted proxies, which keep connections open and send the next request at any moment: longer than
# deploy/nginx and deploy/haproxy keep an idle one, so that the proxy closes it and not we.
PROXY_LAST_REQUEST_SECONDS = 2.0
# How long somebody may send nothing: then they make room for others of the same address, and when the server stops, a
# body of which fewer bytes than these came in this time is no longer waited for.
STALLED_SECONDS = 2.0
LEAST_SENT_BYTES = 1024
