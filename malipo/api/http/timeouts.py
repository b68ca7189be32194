"""How long the server waits for a client, on every route: to send a head or a body, between two requests, and to read
an answer.

After a slow head the connection is closed. After a slow body the answer is 408 `body_too_slow`, and the connection is
closed. A client that does not read its answer is disconnected.
"""

HEAD_SECONDS = 30.0
BODY_SECONDS = 30.0
# Longer than clients and proxies keep an idle connection, so that no payment is sent on one that we are closing.
KEEP_ALIVE_SECONDS = 75
# In this time a client must read LEAST_READ_BYTES of a waiting answer, or all of it.
WRITE_SECONDS = 60.0
LEAST_READ_BYTES = 16 * 1024
# While the server stops: for requests under way.
STOP_SECONDS = 15
# While the server stops: for a request that a client sends before it reads that its connection is closed. On a mobile
# network a request takes 0.1 s and more to arrive, and a busy client reads late.
LAST_REQUEST_SECONDS = 0.5
# The same for trusted proxies, which keep connections open and may send the next request at any moment: longer than
# deploy/nginx and deploy/haproxy keep an idle one, so that the proxy closes it first.
PROXY_LAST_REQUEST_SECONDS = 2.0
# A client that sends nothing for so long may lose its place to another client of its address. While the server stops,
# it does not wait for a body of which less than LEAST_SENT_BYTES has come in this time.
STALLED_SECONDS = 2.0
LEAST_SENT_BYTES = 1024
