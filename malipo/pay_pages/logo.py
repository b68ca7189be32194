"""Logos of merchants, addressed by the hash of their content, so that browsers may keep them for ever."""

from starlette.responses import Response

from malipo.errors import Missing
from malipo.merchants.store import public_profiles
from malipo.pay_pages.request import PayRequest

_FOR_EVER = "public, max-age=31536000, immutable"


async def show(request: PayRequest) -> Response:
    fingerprint = str(request.http.path_params["fingerprint"])
    content = await request.parts.queries.read(lambda connection: public_profiles.find_logo(connection, fingerprint))
    if content is None:
        raise Missing
    return Response(content, media_type="image/png", headers={"Cache-Control": _FOR_EVER})
