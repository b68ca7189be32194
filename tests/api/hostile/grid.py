"""All that no honest client sends, in one table, and what is odd and still right. Data; the tests are in test_hostile.py."""

from tests.api.hostile.addresses import addresses, methods, odd_queries
from tests.api.hostile.bodies import broken_bodies, large_bodies, wrong_fields
from tests.api.hostile.case import CREATE, KEY, encoded, grid, spliced
from tests.api.hostile.headers import garbage, odd_headers
from tests.api.raw_http import request
from tests.conftest import COLLECTION

GRID = grid(addresses, methods, broken_bodies, large_bodies, wrong_fields, odd_headers, odd_queries, garbage)


ODD_BUT_RIGHT: dict[str, tuple[bytes, int]] = {
    "the last of two equal names counts": (request("POST", CREATE, spliced('"amount": 2000'), key=KEY), 201),
    "unknown fields may hold anything": (
        request("POST", CREATE, spliced('"x": [{}, null, 1e300, "\\u0000"]'), key=KEY),
        201,
    ),
    "an unknown number may have 30 digits": (request("POST", CREATE, spliced(f'"x": {10**30}'), key=KEY), 201),
    "exactly 64 KiB": (
        request("POST", CREATE, spliced('"x": "{}"'.format("x" * (65_536 - len(spliced('"x": ""'))))), key=KEY),
        201,
    ),
    "any content type": (
        request("POST", CREATE, encoded(COLLECTION), key=KEY, headers=(b"content-type: text/xml; charset=utf-16",)),
        201,
    ),
    "HTTP/1.0": (b"GET /v1/wallet HTTP/1.0\r\nx-api-key: " + KEY.encode() + b"\r\n\r\n", 200),
    "an absolute target": (request("GET", "http://elsewhere.example/v1/wallet", key=KEY), 200),
    "a header's name in capitals": (request("GET", "/v1/wallet", headers=(b"X-API-KEY: " + KEY.encode(),)), 200),
    "a body where none is read": (request("GET", "/v1/wallet", b"x" * 200_000, key=KEY), 200),
    "90 other headers": (request("GET", "/v1/wallet", key=KEY, headers=(b"x-a: b",) * 90), 200),
    "an upgrade nobody offers": (
        request("GET", "/v1/wallet", key=KEY, headers=(b"connection: upgrade", b"upgrade: websocket")),
        200,
    ),
    "a search that is not UTF-8": (request("GET", "/v1/payments?search=%ff%fe", key=KEY), 200),
    "a search with half an escape": (request("GET", "/v1/payments?search=%&search=%z", key=KEY), 200),
    "7,000 unknown parameters": (request("GET", "/v1/payments?" + "a=1&" * 7_000, key=KEY), 200),
    "chunks": (
        request("POST", CREATE, key=KEY, headers=(b"transfer-encoding: chunked",))
        + b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(encoded(COLLECTION)), encoded(COLLECTION)),
        201,
    ),
}  # fmt: skip
