"""/docs/malipo.postman_collection.json: the contract as requests that can be sent, for Postman, Bruno and the like.

It is made from the contract when somebody first asks for it, so it is never older than that.
"""

import asyncio
from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from malipo.api import openapi
from malipo.api.docs import postman
from malipo.api.parts import ApiParts
from malipo.http.public_url import base_url

FILE_NAME = "malipo.postman_collection.json"
_HEADERS = {
    "Content-Disposition": f'attachment; filename="{FILE_NAME}"',
    "X-Content-Type-Options": "nosniff",
}


async def download(parts: ApiParts, request: Request) -> Response:
    collection = await asyncio.to_thread(_collection, parts.payments.terms.max_amount(None))
    content = msgspec.json.encode(postman.at(collection, base_url(parts.settings, request)))
    await parts.large_answers.wait()
    return Response(content, media_type="application/json", headers=_HEADERS)


@cache
def _collection(max_amount: int) -> postman.Item:
    return postman.collection_file(openapi.served(max_amount))
