"""/openapi.json: the OpenAPI contract. The reference that is made from it is in `docs/`.

`openapi.yaml` is written by hand and is the same everywhere, but for the largest amount, which the operator sets. It
is read when somebody first asks for it, off the event loop, so that a command that serves nothing does not wait for it.
"""

import asyncio
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml
from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.merchants.api_keys import Permission
from malipo.rate_limit.sliding_window import RateClass

Contract = dict[str, Any]

_BY_KEY = "ByKey"
_RATE_LIMIT_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
# Answers that are others for an API key than for a token.
_TO_KEYS = {"401": "KeyNotValid", "403": "KeyForbidden", "429": "RateLimited"}


def load(*, max_amount: int | None = None) -> Contract:
    """The contract; with the largest amount that this installation takes, if it is given."""
    text = resources.files("malipo.api").joinpath("openapi.yaml").read_text("utf-8")
    contract: Contract = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe.
    contract["paths"] |= _webhooks_by_key(contract["paths"])
    if max_amount is not None:
        contract["components"]["schemas"]["Amount"]["maximum"] = max_amount
    return contract


def _webhooks_by_key(paths: Contract) -> Contract:
    """`/v1/webhooks…`: the same operations as `/merchant/webhooks…`, with an API key instead of a token."""
    return {
        path.replace("/merchant/", "/v1/"): {method: _by_key(operation) for method, operation in methods.items()}
        for path, methods in paths.items()
        if path.startswith("/merchant/webhooks")
    }


def _by_key(operation: Contract) -> Contract:
    return operation | {
        "operationId": operation["operationId"] + _BY_KEY,
        "tags": ["Webhook endpoints by API key"],
        "security": [{"apiKey": [Permission.WEBHOOKS_MANAGE.value]}],
        "x-rate-class": RateClass.OTHER.value,
        "responses": {status: _to_key(response) for status, response in operation["responses"].items()}
        | {status: {"$ref": f"#/components/responses/{name}"} for status, name in _TO_KEYS.items()},
    }


def _to_key(response: Contract) -> Contract:
    if "$ref" in response:
        return response
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in _RATE_LIMIT_HEADERS}
    links = {
        name: link | {"operationId": link["operationId"] + _BY_KEY} for name, link in response.get("links", {}).items()
    }
    return response | {"headers": response["headers"] | headers} | ({"links": links} if links else {})


@cache
def served(max_amount: int) -> Contract:
    """The contract, read once. Nobody may change it."""
    return load(max_amount=max_amount)


@cache
def _made(max_amount: int) -> bytes:
    return msgspec.json.encode(served(max_amount))


async def for_programs(parts: ApiParts, request: Request) -> Response:
    content = await asyncio.to_thread(_made, parts.payments.terms.max_amount(None))
    await parts.large_answers.wait()
    return Response(content, media_type="application/json")
