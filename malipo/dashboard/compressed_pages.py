"""Which pages are compressed: pages that one of our own pages or the user requested, except pages that show a secret.

The length of a compressed page shows whether the page has a guessed text twice (BREACH). For that, an attacker makes a
browser request pages with the attacker's text in them, from another site, and reads the lengths on the wire.
`Sec-Fetch-Site` identifies such a request, and no page can change that header; malipo answers it uncompressed. A
browser without the header also gets the page uncompressed: it is old, or it does not use TLS, and then nothing on the
wire is secret. See docs/decisions/0053.
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
