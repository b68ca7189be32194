"""The contract as a collection of requests for Postman, which Bruno and others read too. Pure.

It is the format "Collection v2.1". Addresses and credentials are variables: `baseUrl`, `apiKey` for a program, `token`
for a person. Requests that move money use the variable `idempotencyKey`: a request that is sent twice by mistake gets
the first answer again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from malipo.api.docs import markdown
from malipo.api.docs.schemas import Schema, Schemas

Item = dict[str, Any]

_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_KEY = "Idempotency-Key"
_AUTH: Mapping[str, Item] = {
    "apiKey": {
        "type": "apikey",
        "apikey": [
            {"key": "key", "value": "x-api-key", "type": "string"},
            {"key": "value", "value": "{{apiKey}}", "type": "string"},
            {"key": "in", "value": "header", "type": "string"},
        ],
    },
    "bearer": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
}


def collection_file(contract: Schema) -> Item:
    """Every route of the contract, in the folders of its tags, with an example of its body and of its response.

    Its `baseUrl` is empty: see `at`.
    """
    reader = _CollectionWriter(contract)
    folders = ((tag, list(reader.items(tag["name"]))) for tag in contract["tags"])
    return {
        "info": {
            "name": contract["info"]["title"],
            "description": contract["info"]["description"],
            "schema": _FORMAT,
        },
        "item": [
            {"name": tag["name"], "description": tag["description"], "item": items} for tag, items in folders if items
        ],
        "auth": _AUTH["apiKey"],
        "variable": [
            _variable("baseUrl", "", "Where the service is."),
            _variable("apiKey", "", "An API key of yours. It moves real money."),
            _variable("token", "", "The token of somebody who has logged in, for routes under /merchant."),
            _variable("idempotencyKey", "order-1042-1", "Another one for each new payment, and for each new attempt."),
        ],
    }


def at(item: Item, base_url: str) -> Item:
    """The same collection, for the service at this address."""
    return item | {
        "variable": [each | {"value": base_url} if each["key"] == "baseUrl" else each for each in item["variable"]]
    }


def _variable(key: str, value: str, description: str) -> Item:
    return {"key": key, "value": value, "type": "string", "description": description}


class _CollectionWriter:
    def __init__(self, contract: Schema) -> None:
        self._contract = contract
        self._schemas = Schemas(contract)

    def items(self, tag: str) -> Iterator[Item]:
        for path, methods in self._contract["paths"].items():
            for method, operation in methods.items():
                if tag in operation["tags"]:
                    yield self._item(method.upper(), path, operation)

    def _item(self, method: str, path: str, operation: Schema) -> Item:
        parameters = [self._schemas.resolved(each) for each in operation.get("parameters", [])]
        request: Item = {
            "method": method,
            "header": [_header(each) for each in parameters if each["in"] == "header"],
            "url": _url(path, parameters),
            "auth": _auth(operation),
            "description": _words(operation),
        }
        if "requestBody" in operation:
            body = _first(operation["requestBody"]["content"]["application/json"])
            request["body"] = _json(body)
            request["header"].insert(0, {"key": "Content-Type", "value": "application/json"})
        return {"name": operation["summary"], "request": request, "response": list(self._examples(operation, request))}

    def _examples(self, operation: Schema, request: Item) -> Iterator[Item]:
        """How a good response looks, in the first of its forms."""
        for status, each in operation["responses"].items():
            response = self._schemas.resolved(each)
            media = response["content"].get("application/json")
            if status.startswith("2") and media:
                yield {
                    "name": response["description"],
                    "originalRequest": {name: value for name, value in request.items() if name != "auth"},
                    "code": int(status),
                    "_postman_previewlanguage": "json",
                    "header": [{"key": "Content-Type", "value": "application/json"}],
                    "body": markdown.pretty(_first(media)),
                }


def _auth(operation: Schema) -> Item:
    for requirement in operation["security"]:
        for scheme in requirement:
            return _AUTH[scheme]
    return {"type": "noauth"}


def _words(operation: Schema) -> str:
    """The description, and who may: Postman does not show what a security requirement names."""
    needed = [(scheme, need) for each in operation["security"] for scheme, [need] in each.items()]
    permissions = " or ".join(f"`{need}`" for scheme, need in needed if scheme == "apiKey")
    needs = [f"Needs an API key with the permission {permissions}."] if permissions else []
    needs += [f"Needs the role `{need}`, or above." for scheme, need in needed if scheme != "apiKey"]
    return "\n\n".join([operation["description"].strip(), *needs])


def _header(parameter: Schema) -> Item:
    value = "{{idempotencyKey}}" if parameter["name"] == _KEY else str(parameter["example"])
    return {"key": parameter["name"], "value": value, "description": parameter["description"].strip()}


def _url(path: str, parameters: Sequence[Schema]) -> Item:
    """Postman writes `:id` where the contract writes `{id}`. Query parameters are there, and switched off: all of them
    at once would find nothing."""
    parts = [f":{part[1:-1]}" if part.startswith("{") else part for part in path.strip("/").split("/")]
    url: Item = {"raw": "/".join(["{{baseUrl}}", *parts]), "host": ["{{baseUrl}}"], "path": parts}
    asked = [
        {
            "key": each["name"],
            "value": markdown.in_query(each["example"]),
            "description": each["description"].strip(),
            "disabled": True,
        }
        for each in parameters
        if each["in"] == "query"
    ]
    named = [
        {"key": each["name"], "value": str(each["example"]), "description": each["description"].strip()}
        for each in parameters
        if each["in"] == "path"
    ]
    return url | ({"query": asked} if asked else {}) | ({"variable": named} if named else {})


def _first(media: Schema) -> Any:
    return next(iter(media["examples"].values()))["value"] if "examples" in media else media["example"]


def _json(value: Any) -> Item:
    return {"mode": "raw", "raw": markdown.pretty(value), "options": {"raw": {"language": "json"}}}
