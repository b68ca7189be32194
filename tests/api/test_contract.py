"""The contract is the truth: it names every route, its examples fit its schemas, and a running service keeps to it."""

import argparse
import asyncio
import html
import ipaddress
import itertools
import re
import shlex
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import Any

import aiohttp
import jsonschema_rs
import pytest
import requests
import schemathesis
from anyio.from_thread import start_blocking_portal
from schemathesis import Case, CheckFunction
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.definitions import OPENAPI_31

from malipo import clock
from malipo.api import contract as contracts
from malipo.api.routes import ROUTES, AnyRoute, ByKey, ByToken, Open
from malipo.db import Database
from malipo.ledger.statement import Kind
from malipo.merchants import onboard
from malipo.merchants.keys import Environment, Permission
from malipo.merchants.passwords import Passwords
from malipo.merchants.people import RIGHTS, Role
from malipo.merchants.store import people
from malipo.networks.contract import Channel
from malipo.outbox.event import TEST_EVENT, Event
from malipo.payments.transaction import FailureCode, Reason, Status, Type
from malipo.service import Service
from malipo.settings import Settings
from malipo.webhooks import register
from malipo.webhooks.delivery import State
from malipo.webhooks.endpoint import EVERY
from malipo.webhooks.store import history
from tests.api.conftest import bring, created
from tests.api.published import CONTRACT, OPERATIONS, SENT, Schema, examples_of, faults, loose, operations, resolved
from tests.conftest import (
    COLLECTION,
    NO_LIMITS,
    NOBODY,
    PAYOUT,
    Client,
    Merchant,
    create_database,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.receivers import a_receiver, hangs_up, says
from tests.journeys.town import Elsewhere, a_worker, until
from tests.networks.keys import MPESA_PUBLIC_KEY

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"
# A network that is connected, and that nobody calls.
CONNECTED = {
    "mpesa_base_url": "http://127.0.0.1:9/mpesa",
    "mpesa_api_key": "key",
    "mpesa_public_key": MPESA_PUBLIC_KEY,
    "mpesa_service_provider_code": "000000",
    "mpesa_callback_token": "a-token-of-the-contract",
}
PASSWORD = "maji ya kunde 7"

# Wide enough for everything here; without limits there would be no headers that tell them.
WIDE_LIMITS = dict.fromkeys(NO_LIMITS, 1_000_000)


def responses() -> Iterator[tuple[str, str, Schema]]:
    """Every response: where it stands, its status, what it is. The last ones belong to no route, but to any address."""
    for label, operation in operations():
        for status, response in operation["responses"].items():
            yield f"{label} {status}", status, resolved(response)
    for status, name in (("400", "NotHttp"), ("404", "NotFound"), ("405", "MethodNotAllowed")):
        yield name, status, CONTRACT["components"]["responses"][name]


# What the contract says.


def test_it_names_every_route_and_no_other() -> None:
    assert set(OPERATIONS) == {f"{route.method} {route.path}" for route in ROUTES}
    assert len({operation["operationId"] for operation in OPERATIONS.values()}) == len(OPERATIONS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_needs_what_the_table_says(route: AnyRoute) -> None:
    operation = OPERATIONS[f"{route.method} {route.path}"]
    statuses = set(operation["responses"])
    match route:
        case Open():
            assert operation["security"] == []
        case ByKey():
            assert operation["security"] == [{"apiKey": [route.permission]}]
            assert operation["x-rate-class"] == route.rate_class
            assert statuses >= {"401", "403", "429", "500", "503"}
        case ByToken():
            least = min(
                (role for role, rights in RIGHTS.items() if route.right in rights), key=lambda r: len(RIGHTS[r])
            )
            assert operation["security"] == [{"bearer": [least]}]
            assert statuses >= {"401", "500", "503"}
            # A right that everybody has is refused to nobody.
            assert ("403" in statuses) == (least is not Role.VIEWER)
    assert ("x-rate-class" in operation) == isinstance(route, ByKey)
    assert ("requestBody" not in operation) or statuses >= {"400", "408", "413"}


def test_it_is_openapi() -> None:
    assert list(jsonschema_rs.Draft202012Validator(OPENAPI_31).iter_errors(CONTRACT)) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("Channel", Channel),
        ("Status", Status),
        ("Type", Type),
        ("EntryKind", Kind),
        ("Permission", Permission),
        ("Role", Role),
        ("Event", Event),
        ("DeliveryState", State),
    ],
)
def test_its_words_are_the_codes_words(schema: str, words: type[StrEnum]) -> None:
    assert CONTRACT["components"]["schemas"][schema]["enum"] == list(words)


def test_the_words_inside_its_objects_are_the_codes_words() -> None:
    schemas = CONTRACT["components"]["schemas"]
    assert set(schemas["Transaction"]["properties"]["failureCode"]["enum"]) == set(FailureCode)
    correction = schemas["Correction"]["properties"]
    assert correction["reason"]["enum"] == list(Reason)
    assert correction["outcome"]["enum"] == [Status.COMPLETED, Status.FAILED]
    assert schemas["Subscription"]["items"]["anyOf"][1]["const"] == EVERY
    assert schemas["NewApiKey"]["properties"]["environment"]["enum"] == [*Environment, None]
    assert schemas["ToldEvent"]["enum"] == [*Event, TEST_EVENT]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (Kind, CONTRACT["components"]["schemas"]["EntryKind"]),
        (FailureCode, CONTRACT["components"]["schemas"]["Transaction"]["properties"]["failureCode"]),
        (Reason, CONTRACT["components"]["schemas"]["Correction"]["properties"]["reason"]),
    ],
)
def test_every_word_is_described_where_it_is_listed(words: type[StrEnum], place: Schema) -> None:
    assert re.findall(r"(?:^|[.] )\s*([A-Za-z_]+):", " ".join(place["description"].split())) == list(words)


def test_its_error_codes_are_the_documented_ones_with_the_same_statuses() -> None:
    documented = set(re.findall(r"^\| (\d{3}) \| `([a-z_]+)` \|", ERRORS.read_text(), re.MULTILINE))
    told = {
        (status, code)
        for _, status, response in responses()
        for code in response["headers"].get("X-Error-Code", {}).get("schema", {}).get("enum", ())
    }
    assert told == documented
    explained = [each["const"] for each in CONTRACT["components"]["schemas"]["ErrorCode"]["oneOf"]]
    assert sorted(explained) == sorted(code for _, code in documented)


def examples() -> Iterator[tuple[str, Any, Schema]]:
    """Every example, with the schema that it must fit."""

    for label, operation in operations():
        for parameter in map(resolved, operation.get("parameters", [])):
            yield from examples_of(f"{label} {parameter['name']}", parameter)
        for media in operation.get("requestBody", {}).get("content", {}).values():
            yield from examples_of(label, media)
    for place, _, response in responses():
        for type_, media in response["content"].items():
            yield from examples_of(f"{place} {type_}", media)
        for name, header in response["headers"].items():
            if name != "X-Error-Code":
                yield from examples_of(f"{place} {name}", resolved(header))
    for name, schema in CONTRACT["components"]["schemas"].items():
        for index, value in enumerate(schema.get("examples", ())):
            yield f"{name} {index}", value, schema


def test_every_example_fits_its_schema() -> None:
    assert [f"{place}: {fault}" for place, value, schema in examples() for fault in faults(value, schema)] == []


def test_no_answer_may_carry_a_field_that_the_contract_does_not_name() -> None:
    found = [
        each
        for place, _, response in responses()
        for media in response["content"].values()
        for each in loose(media["schema"], place)
    ]
    assert found == ["GET /openapi.json 200"]


# What a running service does.


# What random requests do to an endpoint that there is. Without a worker a test would be waited for in vain.
ABOUT_AN_ENDPOINT = (
    "getWebhook",
    "changeWebhook",
    "rotateSecret",
    "finishRotation",
    "listDeliveries",
    "getDelivery",
    "redeliver",
    "recover",
)
HOOKS: dict[str, Any] = {"webhook_allow_private": True, "secret_key": "a-secret-of-the-contract-that-nobody-knows"}


@dataclass
class World:
    """A running service with a merchant who has money, people who are logged in, payments in every status, and a
    webhook endpoint that was told of them."""

    url: str
    merchant: Merchant
    reader: Merchant  # somebody who only reads the page, and has not paid before
    token: str
    payments: dict[Status, str]
    people: list[str]
    endpoints: list[str]
    deliveries: list[str]
    log: Path
    database_url: str
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def make_real(self, operation: str, case: Case[Any]) -> None:
        """Let a random request speak of things that there are."""
        number = next(self.numbers)
        # What has ended is answered at once, also to somebody who would wait.
        ended = [self.payments[status] for status in Status if status.is_final]
        names = {"retrieve": ended, "cancel": list(self.payments.values()), "changeRole": self.people}.get(operation)
        if operation in ABOUT_AN_ENDPOINT:
            names = self.endpoints
        if names is not None:
            case.path_parameters["id"] = [*names, "unknown"][number % (len(names) + 1)]
        if "delivery" in case.path_parameters and number % 4:
            case.path_parameters["delivery"] = self.deliveries[number % len(self.deliveries)]
        if "Idempotency-Key" in case.headers and number % 3:
            case.headers["Idempotency-Key"] = f"contract-{number}"

    def headers_for(self, case: Case[Any]) -> dict[str, str]:
        """The credential of the route, and an address of its own where attempts are counted for each address."""
        headers = {"x-forwarded-for": self.address()} if case.path.startswith("/merchant/auth") else {}
        match case.operation.definition.raw["security"]:
            case [{"apiKey": _}]:
                headers["x-api-key"] = self.merchant.key
            case [{"bearer": _}]:
                # Whoever logs out is somebody else, so that the owner stays in.
                is_leaving = case.path == "/merchant/auth/logout"
                headers["Authorization"] = f"Bearer {self.log_in('leaver@duka.example') if is_leaving else self.token}"
        return headers

    def a_worker(self) -> AbstractAsyncContextManager[Service]:
        return a_worker(Elsewhere(self.database_url, Settings(**NO_LIMITS, **HOOKS)))

    def address(self) -> str:
        return str(ipaddress.IPv4Address("10.0.0.0") + next(self.numbers))

    def log_in(self, email: str) -> str:
        answer = requests.post(
            f"{self.url}/merchant/auth/login",
            json={"email": email, "password": PASSWORD},
            headers={"x-forwarded-for": self.address()},
            timeout=10,
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])


@pytest.fixture(scope="module")
def world(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database_url = asyncio.run(create_database(postgres, template))
    with starting(tmp_path_factory.mktemp("contract")) as start:
        # Attempts to log in are counted for each address; a proxy that we trust tells as many as we like.
        proxied = {"trusted_proxies": "127.0.0.1/32"}
        running = start("api", database_url=database_url, **proxied, **WIDE_LIMITS, **CONNECTED, **HOOKS)
        yield asyncio.run(_furnish(running, database_url))


async def _furnish(running: Any, database_url: str) -> World:
    await until_ready(running)
    async with Database.opened(database_url, size=4) as database:
        merchant = await make_merchant(database, wallet=10**15)
        password_hash = await Passwords().hash(PASSWORD)
        ids = {}
        async with database.begin() as tx:
            for name, role in (("owner", Role.OWNER), ("leaver", Role.STAFF), ("juma", Role.VIEWER)):
                person = await onboard.add_person(
                    tx, merchant.id, email=f"{name}@duka.example", name=name, role=role, actor=NOBODY, now=clock.now()
                )
                await people.set_password(tx, person.id, password_hash)
                ids[name] = person.id
        service = Service.assemble(Settings(**NO_LIMITS, **HOOKS), database)
        payments = await _payments(running.url, service, merchant)
        endpoint, deliveries = await _tell(service, merchant, database_url)
        await service.finish()
        reader = await make_merchant(database, wallet=1_000_000)
    present = [ids["leaver"], ids["juma"]]
    world = World(
        running.url, merchant, reader, "", payments, present, [endpoint], deliveries, running.log, database_url
    )
    world.token = world.log_in("owner@duka.example")
    return world


async def _tell(service: Service, merchant: Merchant, database_url: str) -> tuple[str, list[str]]:
    """An endpoint that was told of all that became of the payments; and the deliveries."""
    async with a_receiver() as shop:
        async with service.database.begin() as tx:
            endpoint, _ = await register.register(
                tx,
                merchant.id,
                url=shop.url("/"),
                events=list(Event),
                seal=service.seal,
                actor=NOBODY,
                now=clock.now(),
            )

        async def find_all() -> list[str] | None:
            async with service.database.read() as connection:
                found = await history.page(connection, endpoint.id, state=State.DELIVERED, before=None, limit=100)
                number = await connection.fetchval("SELECT count(*) FROM events WHERE merchant_id = $1", merchant.id)
            return [each.event_id for each in found] if len(found) == number else None

        async with a_worker(Elsewhere(database_url, service.settings)):
            return endpoint.id, await until(find_all, pause=0.05)


async def _payments(url: str, service: Service, merchant: Merchant) -> dict[Status, str]:
    """One payment in every status, by its id; collections and payouts in turn."""
    ids = {}
    async with aiohttp.ClientSession() as http:
        api = Client(http, url, merchant.key)
        for status, body in zip(Status, itertools.cycle([COLLECTION, PAYOUT])):
            ids[status] = (await created(api, body | {"metadata": {"orderId": "A-1"}}))["id"]
            await bring(service, merchant, ids[status], status)
    return ids


# Whether a request is taken can depend on more than its shape. These routes may refuse one of the right shape, in
# these words and no others.
AMOUNT = "sent as a JSON integer"  # To JSON Schema 1000.0 is an integer. To us it is not how shillings are written.
PAYMENT = f"{AMOUNT}|at most 64 bits"
RANGE = "from must not be after to|(from|to) must be a date"  # The year 1 in the east is before the year 1.
BEYOND_SHAPE = {
    "collect": PAYMENT,
    "disburse": PAYMENT,
    "quote": AMOUNT,
    "list": RANGE,
    "listWalletEntries": RANGE,
    "createApiKey": "must be in the future|expiresAt must be a date|at most 50 IP addresses or networks",  # host bits
    "listEvents": "after must be a cursor",
    "createWebhook": "^url must",
    "changeWebhook": "^url must",
    "recover": "since must be a date",
    "resetPassword": "too old",
    "changePassword": "is not right",
}

SCHEMA = schemathesis.openapi.from_dict(
    CONTRACT,
    config=schemathesis.Config.from_dict(
        {
            "seed": 20261115,
            "generation": {
                "max-examples": 10,
                "deterministic": True,
                "database": "none",
                # Credentials are ours to send; that none and a wrong one are refused is a check of its own.
                "with-security-parameters": False,
            },
        }
    ),
)


@SCHEMA.parametrize()
def test_the_service_keeps_to_the_contract(case: Case[Any], world: World) -> None:
    """Examples, boundaries and random requests, of the right shape and of the wrong one, to every route.

    No answer is a 5xx, and every answer has a status, a content type, headers and a body that the contract names.
    Credentials that are missing or wrong are a 401, methods that are not there a 405 with `Allow`. Unknown fields are
    ignored by design, so request schemas allow them; whatever else breaks a schema is refused.
    """
    operation = case.operation.definition.raw["operationId"]
    is_right = case.meta is not None and case.meta.generation.mode.is_positive
    if is_right:
        world.make_real(operation, case)
    if operation == "listEvents" and str(case.query.get("wait")).isdecimal() and int(case.query["wait"]) <= 30:
        case.query["wait"] = 0  # Nothing happens while random requests are sent: who waits, waits in vain.
    excused: list[CheckFunction] = [positive_data_acceptance] if operation in BEYOND_SHAPE else []
    answer = case.call_and_validate(world.url, headers=world.headers_for(case), excluded_checks=excused)
    if is_right and excused and answer.status_code == 400:
        body = answer.json()
        sentences = list(itertools.chain(*body.get("details", {}).values())) or [body["error"]]
        assert [each for each in sentences if not re.search(BEYOND_SHAPE[operation], each)] == []


class Story:
    """Somebody who does everything once, and holds each good answer against the contract."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: set[str] = set()

    def __call__(self, method: str, path: str, body: Any = None, *, token: str = "", at: str = "", **query: Any) -> Any:
        """The body of a good answer of the route that is at this path, or at the path `at` with an id in it."""
        headers = {"x-api-key": self._world.merchant.key} if path.startswith("/v1") else {}
        if path.startswith("/merchant/auth"):
            headers["x-forwarded-for"] = self._world.address()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        answer = requests.request(
            method, self._world.url + (at or path), json=body, headers=headers, params=query, timeout=60
        )
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        SCHEMA[path][method].validate_response(answer)
        self.seen.add(f"{method} {path}")
        return answer.json() if "json" in answer.headers["content-type"] else answer.text


def test_every_good_answer_fits_the_contract(world: World) -> None:
    do = Story(world)
    _pay(do, world)
    _meet(do, world)
    _listen(do, world)
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/docs.css"):
        do("GET", path)
    said = {"input_ResultCode": "INS-0", "input_ThirdPartyConversationID": "1M7EXJ8ZQ4T7K2WB"}
    do("POST", "/callbacks/{route}/{token}", said, at=f"/callbacks/mpesa/{CONNECTED['mpesa_callback_token']}")
    assert do.seen == set(OPERATIONS)


def _pay(do: Story, world: World) -> None:
    payment = "/v1/payments/{id}"
    made = do("POST", "/v1/payments", COLLECTION)["transaction"]
    do("POST", f"{payment}/cancel", at=f"/v1/payments/{made['reference']}/cancel")
    do("POST", "/v1/payments/disburse", PAYOUT)
    for status, id_ in world.payments.items():
        if status is not Status.PENDING:  # The random requests may have cancelled it.
            assert do("GET", payment, at=f"/v1/payments/{id_}")["transaction"]["status"] == status
    assert do("GET", "/v1/payments", limit=100)["pagination"]["total"] >= len(Status)
    do("POST", "/v1/payments/quote", {"type": "COLLECTION", "channel": "MPESA", "amount": 1000})
    do("GET", "/v1/channels")
    do("GET", "/v1/wallet")
    assert do("GET", "/v1/wallet/entries")["entries"]
    assert do("GET", "/v1/wallet/entries", format="csv").startswith("line,kind,")


def _meet(do: Story, world: World) -> None:
    email, new_password = "mgeni@duka.example", "korosho saba mezani"
    added = do("POST", "/merchant/people", {"email": email, "role": "viewer"}, token=world.token)
    do("POST", "/merchant/auth/reset", {"token": added["passwordToken"], "password": PASSWORD})
    granted = do("POST", "/merchant/auth/login", {"email": email, "password": PASSWORD})
    granted = do("POST", "/merchant/auth/refresh", {"refreshToken": granted["refreshToken"]})
    change = {"currentPassword": PASSWORD, "newPassword": new_password}
    do("POST", "/merchant/auth/password", change, token=granted["token"])
    granted = do("POST", "/merchant/auth/login", {"email": email, "password": new_password})
    do("POST", "/merchant/auth/logout", token=granted["token"])
    person, at = "/merchant/people/{id}", f"/merchant/people/{added['person']['id']}"
    do("GET", "/merchant/people", token=world.token)
    do("PATCH", person, {"role": "staff"}, token=world.token, at=at)
    do("DELETE", person, token=world.token, at=at)
    for known in do("GET", "/merchant/api-keys", token=world.token)["apiKeys"][1:]:
        do("DELETE", "/merchant/api-keys/{id}", token=world.token, at=f"/merchant/api-keys/{known['id']}")
    for asked in ({"expiresAt": "2099-12-31", "ipAllowlist": ["10.0.0.0/8", "2001:db8::1"]}, {"environment": "test"}):
        body = {"name": "Duka", "permissions": ["wallet.read"], **asked}
        key = do("POST", "/merchant/api-keys", body, token=world.token)["apiKey"]
    do("GET", "/merchant/api-keys", token=world.token)
    do("DELETE", "/merchant/api-keys/{id}", token=world.token, at=f"/merchant/api-keys/{key['id']}")


def _listen(do: Story, world: World) -> None:
    hooks, one = "/merchant/webhooks", "/merchant/webhooks/{id}"

    def ask(method: str, path: str = "", body: Any = None, *, delivery: str = "", **query: Any) -> Any:
        at = f"{hooks}/{id_}{path.replace('{delivery}', delivery)}"
        return do(method, one + path, body, token=world.token, at=at, **query)

    # What random requests have registered could lead anywhere.
    for known in do("GET", hooks, token=world.token)["endpoints"]:
        id_ = known["id"]
        ask("DELETE")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(a_receiver()) as shop:
        # Of the payments that there are, one has told this.
        made = do("POST", hooks, {"url": shop.url("/"), "events": ["payout.failed"]}, token=world.token)["endpoint"]
        id_ = made["id"]
        assert "switchedOffAt" in ask("PATCH", "", {"isActive": False})["endpoint"]
        ask("PATCH", "", {"isActive": True})
        new = ask("POST", "/rotate-secret")["endpoint"]["secret"]
        assert "rotationEndsAt" in ask("GET")["endpoint"]
        ask("POST", "/rotate-secret/finish")
        with portal.wrap_async_context_manager(world.a_worker()):
            shop.behave("/", hangs_up)
            failed = ask("POST", "/test")["delivery"]
            assert "error" in failed["attempts"][0]
            assert "failingSince" in do("GET", hooks, token=world.token)["endpoints"][0]
            shop.behave("/", says(410))
            assert ask("POST", "/test")["delivery"]["attempts"][0]["status"] == 410
            assert "switchedOffReason" in ask("GET")["endpoint"]
            ask("PATCH", "", {"isActive": True})
            shop.behave("/", says(200, b"ok"))
            assert ask("POST", "/test")["delivery"]["attempts"][0]["answer"] == "ok"
            ask("POST", "/deliveries/{delivery}/redeliver", delivery=failed["id"])
            assert ask("POST", "/recover", {"since": "2026-01-01"})["recovered"] == 1
            ask("GET", "/deliveries/{delivery}", delivery=failed["id"])
            assert "next" in ask("GET", "/deliveries", limit=1)
            assert do("GET", "/v1/events", limit=100)["events"]
            assert do("GET", "/v1/events", after="latest")["events"] == []
    for secret in (made["secret"], new):
        assert secret.removeprefix("whsec_") not in world.log.read_text()


# What is served to read.


def test_the_contract_tells_the_largest_amount_of_this_installation() -> None:
    contract = contracts.load(max_amount=3_000_000)
    assert contract["components"]["schemas"]["Amount"]["maximum"] == 3_000_000


def test_the_page_shows_every_route_and_every_error_code(world: World) -> None:
    page = requests.get(f"{world.url}/docs", timeout=10).text
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {operation["operationId"] for operation in OPERATIONS.values()} <= set(ids)
    codes = {f"code-{each['const']}" for each in CONTRACT["components"]["schemas"]["ErrorCode"]["oneOf"]}
    assert codes <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert f"BASE_URL=&#34;{world.url}&#34;" in page


def test_the_page_shows_what_merchants_receive(world: World) -> None:
    page = requests.get(f"{world.url}/docs", timeout=10).text
    shown = html.unescape(re.sub("<[^>]*>", "", page.split('id="received"')[1].split("</section>")[0]))
    assert [event for event in SENT if f'"event": "{event}"' not in shown] == []
    assert [name for name in map(resolved, SENT[TEST_EVENT]["parameters"]) if name["name"] not in shown] == []


def test_the_page_asks_no_other_host_for_anything_and_runs_no_script(world: World) -> None:
    answer = requests.get(f"{world.url}/docs", timeout=10)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; img-src 'self';")
    assert set(re.findall(r'(?:src|href)="([^#"][^"]*)"', answer.text)) == {
        "/docs/docs.css",
        "/openapi.json",
    }
    assert not re.search(r"<script|javascript:|\son\w+=|style=", answer.text)
    assert "url(" not in requests.get(f"{world.url}/docs/docs.css", timeout=10).text


def test_every_command_on_the_page_can_be_pasted(world: World) -> None:
    page = requests.get(f"{world.url}/docs", timeout=10).text
    set_up, *commands = re.findall(r'<figure class="code command">.*?<code>(.*?)</code>', page, re.DOTALL)
    assert set(re.findall(r"export (\w+)=", set_up)) == {"BASE_URL", "API_KEY", "TOKEN"}
    filled = {"BASE_URL": world.url, "API_KEY": world.reader.key, "TOKEN": world.log_in("leaver@duka.example")}
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(world.a_worker()):
        for text in commands:
            _paste(Template(html.unescape(text)).substitute(filled))


def _paste(command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "))
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("-X", dest="method")
    options.add_argument("-H", dest="headers", action="append", default=[])
    options.add_argument("-d", dest="body")
    asked = options.parse_args(words[1:])
    headers = dict(line.split(": ", 1) for line in asked.headers)
    method = asked.method or ("POST" if asked.body else "GET")
    answer = requests.request(method, asked.url, headers=headers, data=asked.body, timeout=60)
    # The ids, tokens and passwords of examples are nobody's; the leaver is no owner, and logs out on the way.
    expected = {200, 201} if "/v1/" in command and "MLP-" not in command else {200, 201, 400, 401, 403, 404}
    assert answer.status_code in expected, f"{command}\n{answer.text}"


def test_the_page_speaks_of_the_address_that_the_reader_came_to(world: World) -> None:
    proxied = {"host": "pay.duka.example", "x-forwarded-proto": "https"}
    page = requests.get(f"{world.url}/docs", headers=proxied, timeout=10).text
    assert "BASE_URL=&#34;https://pay.duka.example&#34;" in page


@pytest.mark.parametrize("host", ['a"><script>', "a b", "é", "x" * 300, ""])
def test_the_page_repeats_no_host_that_is_none(world: World, host: str) -> None:
    answer = requests.get(f"{world.url}/docs", headers={"host": host.encode()}, timeout=10)
    assert f"BASE_URL=&#34;{world.url}&#34;" in answer.text
