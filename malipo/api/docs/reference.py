"""The API reference: a page for each operation, with its fields, samples, answers and errors; a page that lists them;
one for what merchants receive, and one for the error codes.

Everything is read from the OpenAPI contract. A test compares the contract with the route table, so the pages cannot
promise what the service does not do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import quote

from malipo.api.docs import markdown, render, samples
from malipo.api.docs.pages import EXAMPLE_URL, REFERENCE, DocsInstallation
from malipo.api.docs.schemas import Schema, SchemaField, Schemas
from malipo.merchants.roles import RIGHTS, Right, Role
from malipo.rate_limit.sliding_window import RateClass

# The right that the least role has and the roles below it do not.
RIGHT_OF = {Role.VIEWER: Right.READ, Role.STAFF: Right.OPERATE, Role.OWNER: Right.ADMINISTER}

_CREDENTIALS = {"apiKey": "x-api-key: $MALIPO_API_KEY", "bearer": "Authorization: Bearer $TOKEN"}
# Query parameters that an example shows. All of them at once would find nothing.
_IN_SAMPLES = ("status", "kind", "wait", "limit", "phone")
_KEY = "Idempotency-Key"
# The pages beside those of the operations, with their templates.
_MORE = {"received": "received.html", "error-codes": "error_codes.html"}
# Answers that every address can give and that no route lists.
_ANYWHERE = (("400", "NotHttp"), ("404", "NotFound"), ("405", "MethodNotAllowed"))


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    text: str
    is_json: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One example of a request, in curl and with our clients."""

    title: str
    curl: str
    clients: tuple[samples.ClientSample, ...]


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
    requests: Sequence[Request]
    answers: Sequence[DocumentedResponse]

    @property
    def address(self) -> str:
        return f"{REFERENCE}/{self.id}"


@dataclass(frozen=True, slots=True)
class Area:
    name: str
    words: str
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class TriedRequest:
    """The fields of a request that a reader tries out on the page."""

    id: str
    title: str
    method: str
    path: str
    body: str
    takes_key: bool


@dataclass(frozen=True, slots=True)
class WebhookDocs:
    """The webhooks that merchants receive: the headers and fields that all events share, and the body of each event."""

    headers: Sequence[SchemaField]
    fields: Sequence[SchemaField]
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True)
class Code:
    name: str
    statuses: tuple[str, ...]
    words: str
    operations: tuple[Operation, ...]  # those that can answer with it


class Reference:
    """The contract, read once. Its pages are made with EXAMPLE_URL in place of the address of the service."""

    def __init__(self, contract: Schema, limits: Mapping[RateClass, int]) -> None:
        reader = _ContractReader(contract, limits)
        self._contract = contract
        self.areas = [area for tag in contract["tags"] if (area := reader.area(tag)).operations]
        self._operations = {each.id: each for each in chain.from_iterable(area.operations for area in self.areas)}
        self._sent = reader.sent()
        self._codes = reader.codes([*self._operations.values()])
        self._meanings = {code.name: code.words for code in self._codes}

    @property
    def names(self) -> list[str]:
        """The pages below /docs/reference, in order."""
        return [*self._operations, *_MORE]

    def index(self, installation: DocsInstallation) -> str:
        lead, topics = markdown.topics(self._contract["info"]["description"])
        return self._page(
            "reference.html",
            installation,
            here=REFERENCE,
            info=self._contract["info"],
            lead=lead,
            topics=topics,
            base_url=EXAMPLE_URL,
        )

    def page(self, name: str, installation: DocsInstallation) -> str:
        here = f"{REFERENCE}/{name}"
        if name in _MORE:
            return self._page(_MORE[name], installation, here=here, sent=self._sent, codes=self._codes)
        operation, names = self._operations[name], self.names
        place = names.index(name)
        return self._page(
            "operation.html",
            installation,
            here=here,
            operation=operation,
            area=next(each for each in self.areas if operation in each.operations),
            meanings=self._meanings,
            before=self._operations[names[place - 1]] if place else None,
            after=self._operations.get(names[place + 1]),
        )

    def _page(self, template: str, installation: DocsInstallation, *, here: str, **values: Any) -> str:
        return render.page(template, installation, here=here, areas=self.areas, **values)


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
        # Operations for API keys come before those for logged-in people, which often do the same.
        operations.sort(key=lambda each: not each.path.startswith("/v1"))
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

    def codes(self, operations: Sequence[Operation]) -> list[Code]:
        """Every code with the statuses that carry it, in their order, and who answers with it."""
        statuses: dict[str, set[str]] = {}
        for status, response in self._responses():
            for code in _codes(response):
                statuses.setdefault(code, set()).add(status)
        answering: dict[str, list[Operation]] = {}
        for operation in operations:
            for code in dict.fromkeys(chain.from_iterable(answer.codes for answer in operation.answers)):
                answering.setdefault(code, []).append(operation)
        found = []
        for each in self._contract["components"]["schemas"]["ErrorCode"]["oneOf"]:
            name = each["const"]
            found.append(Code(name, tuple(sorted(statuses[name])), each["description"], tuple(answering.get(name, ()))))
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
            requests=list(_requests(method, path, operation, parameters, body)),
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
    """The permissions of a key, or the roles of a person, of which a caller needs one."""
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
    # A workbook cannot be shown.
    return [("", media["example"])] if "example" in media else []


def _examples(type_: str, media: Schema) -> Iterator[Example]:
    for title, value in _named(media):
        if type_ == "application/json":
            yield Example(title, markdown.pretty(value), is_json=True)
        else:
            yield Example(title or type_, str(value).replace("\r\n", "\n").rstrip(), is_json=False)


def _requests(
    method: str, path: str, operation: Schema, parameters: Sequence[Schema], body: Schema | None
) -> Iterator[Request]:
    call = samples.CALLS.get(operation["operationId"])
    url = "$MALIPO_URL" + _path(path, parameters)
    credentials = [_CREDENTIALS[scheme] for scheme in dict.fromkeys(chain.from_iterable(operation["security"]))]
    for number, (title, value) in enumerate(_named(body) if body else [("", None)]):
        # Another body under the same Idempotency-Key would be refused.
        key = call.keys[number] if call is not None and call.keys else None
        headers = [*credentials, f"{_KEY}: {key}"] if key is not None else credentials
        clients = [] if call is None else _with_clients(call, parameters, value, key)
        yield Request(title, markdown.curl(method, url, headers=headers, body=value), tuple(clients))


def _with_clients(
    call: samples.ClientCall, parameters: Sequence[Schema], body: Any, key: str | None
) -> list[samples.ClientSample]:
    ids = [str(each["example"]) for each in parameters if each["in"] == "path"]
    example_values = {each["name"]: each["example"] for each in _in_sample(parameters)}
    if call.gives in (samples.Gives.EACH, samples.Gives.ONE):
        example_values.pop("limit", None)  # All pages are read, one after the other; or what stands above the pages.
    several = {
        name: samples.Several(tuple(value)) if isinstance(value, list) else value
        for name, value in example_values.items()
    }
    return samples.in_languages(call, ids, several | (body or {}) | ({} if key is None else {"idempotencyKey": key}))


def _in_sample(parameters: Sequence[Schema]) -> list[Schema]:
    return [each for each in parameters if each["in"] == "query" and each["name"] in _IN_SAMPLES]


def _path(path: str, parameters: Sequence[Schema]) -> str:
    """The path, with the examples of its parameters filled in."""
    for each in parameters:
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", str(each["example"]))
    query = [f"{each['name']}={quote(markdown.in_query(each['example']), safe=',')}" for each in _in_sample(parameters)]
    return path + ("?" + "&".join(query) if query else "")
