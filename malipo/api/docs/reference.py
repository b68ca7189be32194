"""The API reference as a page: areas, routes, and for each its fields, responses and errors.

Everything is read from the OpenAPI contract. A test compares the contract with the route table, so the page cannot
promise what the service does not do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malipo.api.docs import markdown, render
from malipo.api.docs.pages import EXAMPLE_URL, DocsInstallation
from malipo.api.docs.schemas import Schema, SchemaField, Schemas
from malipo.merchants.roles import RIGHTS, Right, Role
from malipo.rate_limit.sliding_window import RateClass

# The right that the least role has and the roles below it do not.
RIGHT_OF = {Role.VIEWER: Right.READ, Role.STAFF: Right.OPERATE, Role.OWNER: Right.ADMINISTER}

_CREDENTIALS = {"apiKey": "x-api-key: $MALIPO_API_KEY", "bearer": "Authorization: Bearer $TOKEN"}
# Query parameters that an example shows. All of them at once would find nothing.
_ASKED = ("status", "kind", "wait", "limit")
_KEY = "Idempotency-Key"
# What any address can answer, and no route.
_ANYWHERE = (("400", "NotHttp"), ("404", "NotFound"), ("405", "MethodNotAllowed"))


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    text: str
    is_json: bool


@dataclass(frozen=True, slots=True)
class DocumentedResponse:
    status: str
    words: str
    codes: tuple[str, ...]
    headers: tuple[str, ...]
    examples: tuple[Example, ...]
    fields: tuple[SchemaField, ...]

    @property
    def is_good(self) -> bool:
        return self.status.startswith("2")


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    title: str
    words: str
    access: str
    needs: tuple[str, ...]
    limit: int
    parameters: Mapping[str, Sequence[SchemaField]]
    body: Sequence[SchemaField]
    curls: Sequence[Example]
    answers: Sequence[DocumentedResponse]


@dataclass(frozen=True, slots=True)
class Area:
    name: str
    words: str
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class TriedRequest:
    """What the page for trying fills in."""

    id: str
    title: str
    method: str
    path: str
    body: str
    takes_key: bool


@dataclass(frozen=True, slots=True)
class WebhookDocs:
    """What merchants receive: headers and fields, which all events share, and the body of each."""

    headers: Sequence[SchemaField]
    fields: Sequence[SchemaField]
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True)
class Code:
    name: str
    statuses: tuple[str, ...]
    words: str


def page(contract: Schema, limits: Mapping[RateClass, int], installation: DocsInstallation) -> str:
    """The whole page. Its examples use EXAMPLE_URL."""
    reader = _ContractReader(contract, limits)
    lead, topics = markdown.topics(contract["info"]["description"])
    return render.page(
        "reference.html",
        installation,
        here="/docs/reference",
        info=contract["info"],
        lead=lead,
        topics=topics,
        areas=[area for tag in contract["tags"] if (area := reader.area(tag)).operations],
        sent=reader.sent(),
        codes=reader.codes(),
        base_url=EXAMPLE_URL,
    )


def try_it(contract: Schema, installation: DocsInstallation) -> str:
    """The page from which requests with an API key are sent."""
    reader = _ContractReader(contract, dict.fromkeys(RateClass, 0))
    areas = [(tag["name"], reader.tried(tag)) for tag in contract["tags"]]
    return render.page("try.html", installation, here="/docs/try", areas=[each for each in areas if each[1]])


class _ContractReader:
    def __init__(self, contract: Schema, limits: Mapping[RateClass, int]) -> None:
        self._contract = contract
        self._schemas = Schemas(contract)
        self._limits = limits

    def area(self, tag: Schema) -> Area:
        operations = [
            self._operation(method.upper(), path, operation)
            for path, methods in self._contract["paths"].items()
            for method, operation in methods.items()
            if tag["name"] in operation["tags"]
        ]
        return Area(tag["name"], tag["description"], operations)

    def tried(self, tag: Schema) -> list[TriedRequest]:
        found = []
        for path, methods in self._contract["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"] and _access(operation)[0] == "key":
                    parameters = [self._schemas.resolved(each) for each in operation.get("parameters", [])]
                    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
                    found.append(
                        TriedRequest(
                            operation["operationId"],
                            operation["summary"],
                            method.upper(),
                            _path(path, parameters),
                            markdown.pretty(_named(body)[0][1]) if body else "",
                            any(each["name"] == _KEY for each in parameters),
                        )
                    )
        return found

    def sent(self) -> WebhookDocs:
        operations = [methods["post"] for methods in self._contract["webhooks"].values()]
        bodies = [each["requestBody"]["content"]["application/json"] for each in operations]
        return WebhookDocs(
            [self._parameter(self._schemas.resolved(each)) for each in operations[0]["parameters"]],
            list(self._schemas.fields(bodies[0]["schema"]["properties"]["transaction"], "transaction.")),
            [
                Example(
                    f"{body['example']['event']} · {each['summary']}", markdown.pretty(body["example"]), is_json=True
                )
                for each, body in zip(operations, bodies, strict=True)
            ],
        )

    def codes(self) -> list[Code]:
        """Every code with the statuses that carry it, in their order."""
        statuses: dict[str, set[str]] = {}
        for status, response in self._responses():
            for code in _codes(response):
                statuses.setdefault(code, set()).add(status)
        meanings = self._contract["components"]["schemas"]["ErrorCode"]["oneOf"]
        found = [Code(each["const"], tuple(sorted(statuses[each["const"]])), each["description"]) for each in meanings]
        return sorted(found, key=lambda code: code.statuses)

    def _responses(self) -> Iterator[tuple[str, Schema]]:
        for methods in self._contract["paths"].values():
            for operation in methods.values():
                for status, response in operation["responses"].items():
                    yield status, self._schemas.resolved(response)
        for status, name in _ANYWHERE:
            yield status, self._contract["components"]["responses"][name]

    def _operation(self, method: str, path: str, operation: Schema) -> Operation:
        parameters = [self._schemas.resolved(each) for each in operation.get("parameters", [])]
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        access, needs = _access(operation)
        rate_class = operation.get("x-rate-class")
        return Operation(
            id=operation["operationId"],
            method=method,
            path=path,
            title=operation["summary"],
            words=operation["description"],
            access=access,
            needs=needs,
            limit=self._limits[RateClass(rate_class)] if rate_class else 0,
            parameters={
                place: [self._parameter(each) for each in parameters if each["in"] == place]
                for place in ("path", "query", "header")
            },
            body=list(self._schemas.fields(body["schema"])) if body else (),
            curls=list(_curls(method, path, operation, parameters, body)),
            answers=[
                self._answer(status, self._schemas.resolved(response))
                for status, response in operation["responses"].items()
            ],
        )

    def _parameter(self, parameter: Schema) -> SchemaField:
        schema = self._schemas.resolved(parameter["schema"]) | {"description": parameter["description"]}
        return self._schemas.field(parameter["name"], schema, is_required=parameter.get("required", False))

    def _answer(self, status: str, response: Schema) -> DocumentedResponse:
        media = response["content"].get("application/json", {})
        return DocumentedResponse(
            status,
            response["description"],
            _codes(response),
            tuple(name for name in response["headers"] if name not in ("X-Request-Id", "X-Error-Code")),
            tuple(example for type_, each in response["content"].items() for example in _examples(type_, each)),
            tuple(self._schemas.fields(media["schema"])) if media else (),
        )


def _access(operation: Schema) -> tuple[str, tuple[str, ...]]:
    """Who may ask, and what they need: one of these permissions of the key, or one of these roles."""
    if not operation["security"]:
        return "open", ()
    [scheme, *_] = operation["security"][0]
    needs = [need for each in operation["security"] for need in each[scheme]]
    if scheme == "apiKey":
        return "key", tuple(needs)
    [need] = needs
    return "token", tuple(role for role, rights in RIGHTS.items() if RIGHT_OF[Role(need)] in rights)


def _codes(response: Schema) -> tuple[str, ...]:
    return tuple(response["headers"].get("X-Error-Code", {}).get("schema", {}).get("enum", ()))


def _named(media: Schema) -> list[tuple[str, Any]]:
    """The examples, each with its title; a single one needs none."""
    if "examples" in media:
        return [(each["summary"], each["value"]) for each in media["examples"].values()]
    return [("", media["example"])]


def _examples(type_: str, media: Schema) -> Iterator[Example]:
    for title, value in _named(media):
        if type_ == "application/json":
            yield Example(title, markdown.pretty(value), is_json=True)
        else:
            yield Example(title or type_, str(value).replace("\r\n", "\n").rstrip(), is_json=False)


def _curls(
    method: str, path: str, operation: Schema, parameters: Sequence[Schema], body: Schema | None
) -> Iterator[Example]:
    url = "$MALIPO_URL" + _path(path, parameters)
    credentials = [_CREDENTIALS[scheme] for each in operation["security"] for scheme in each]
    named = [(each["name"], str(each["example"])) for each in parameters if each["in"] == "header"]
    for number, (title, value) in enumerate(_named(body) if body else [("", None)], start=1):
        # Another body under the same Idempotency-Key would be refused.
        is_another = number > 1
        headers = [
            f"{name}: {example}-{number}" if is_another and name == _KEY else f"{name}: {example}"
            for name, example in named
        ]
        yield Example(title, markdown.curl(method, url, headers=credentials + headers, body=value), is_json=False)


def _path(path: str, parameters: Sequence[Schema]) -> str:
    """With the examples of its parameters."""
    for each in parameters:
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", str(each["example"]))
    asked = [f"{each['name']}={markdown.in_query(each['example'])}" for each in parameters if each["name"] in _ASKED]
    return path + ("?" + "&".join(asked) if asked else "")
