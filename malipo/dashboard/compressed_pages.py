"""Which pages are compressed: those that our own pages or the reader asked for, but for pages that show a secret.

The length of a compressed page tells whether a text that is in it twice was guessed (BREACH). For that an attacker
makes a browser ask for pages with the attacker's text in them, from another site, and watches the line. Such a request
is known by `Sec-Fetch-Site`, which no page can change, and is answered uncompressed. So is a browser that does not send
it: an old one, or one without TLS, whose line has no secrets. See docs/decisions/0053.
"""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request

from malipo.http.compression import ENCODING, packed, takes_gzip

# Keys, secrets and links, each shown once. No proxy compresses them either, if it keeps to the standard.
SHOW_SECRETS = (
    "merchant/api_keys/created.html",
    "merchant/webhooks/secret.html",
    "merchant/settings/password_link.html",
    "second_factor/enrol.html",
    "second_factor/recovery_codes.html",
)
NOT_COMPRESSED = "no-store, no-transform"

_LONG = 200_000  # bytes, which take a few milliseconds: other requests are answered meanwhile


def may_compress(request: Request) -> bool:
    is_ours = request.headers.get("sec-fetch-site") in ("same-origin", "none")
    return is_ours and takes_gzip(request.headers.get("accept-encoding", ""))


def is_page(headers: Headers) -> bool:
    """Whether the response is a page that is rendered for each request and shows no secret."""
    return headers.get("content-type", "").startswith("text/html") and headers.get("cache-control") != NOT_COMPRESSED


async def compressed(body: bytes, headers: MutableHeaders) -> bytes:
    small = await asyncio.to_thread(packed, body) if len(body) > _LONG else packed(body)
    headers["Content-Encoding"] = ENCODING
    headers["Content-Length"] = str(len(small))
    return small
