"""The contract is the truth: it names every route, and a running service keeps to it."""

import itertools
import re
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from schemathesis import Case, CheckFunction
from schemathesis.checks import load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.definitions import OPENAPI_31

from malipo.api.routes import ROUTES, AnyRoute, KeyRoute, PublicRoute, TokenRoute
from malipo.merchants.roles import RIGHTS, Role
from malipo.payments.transaction import Status
from tests.api.contract_world import CONNECTED, METRICS_TOKEN, PASSWORD, World
from tests.api.contract_world import world as world
from tests.api.published_contract import CONTRACT, OPERATIONS
from tests.conftest import (
    COLLECTION,
    PAYOUT,
)
from tests.db.embedded_servers import until
from tests.journeys.webhook_receivers import a_receiver, hangs_up, says


def test_it_names_every_route_and_no_other() -> None:
    assert set(OPERATIONS) == {f"{route.method} {route.path}" for route in ROUTES}
    assert len({operation["operationId"] for operation in OPERATIONS.values()}) == len(OPERATIONS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_needs_what_the_table_says(route: AnyRoute) -> None:
    operation = OPERATIONS[f"{route.method} {route.path}"]
    statuses = set(operation["responses"])
    match route:
        case PublicRoute():
            assert operation["security"] == []
        case KeyRoute():
            assert operation["security"] == [{"apiKey": [each]} for each in route.permissions]
            assert operation["x-rate-class"] == route.rate_class
            assert statuses >= {"401", "403", "429", "500", "503"}
        case TokenRoute():
            least = min(
                (role for role, rights in RIGHTS.items() if route.right in rights), key=lambda r: len(RIGHTS[r])
            )
            assert operation["security"] == [{"bearer": [least]}]
            assert statuses >= {"401", "500", "503"}
            # A right that everybody has is refused only to who must set up a second factor first.
            refused = operation["responses"]["403"] == {"$ref": "#/components/responses/SecondFactorNotEnrolled"}
            assert refused == (least is Role.VIEWER)
    assert ("x-rate-class" in operation) == isinstance(route, KeyRoute)
    assert ("requestBody" not in operation) or statuses >= {"400", "408", "413"}


def test_it_is_openapi() -> None:
    assert list(jsonschema_rs.Draft202012Validator(OPENAPI_31).iter_errors(CONTRACT)) == []


# Whether a request is taken can depend on more than its shape. These routes may refuse one of the right shape, in
# these words and no others.
AMOUNT = "sent as a JSON integer"  # To JSON Schema 1000.0 is an integer. To us it is not how shillings are written.
ORDER = "orderReference must be text"  # Which characters can be printed is a table of Unicode's.
PAYMENT = f"{AMOUNT}|at most 64 bits|{ORDER}"
RANGE = "from must not be after to|(from|to) must be a date"  # The year 1 in the east is before the year 1.
BEYOND_SHAPE = {
    "collect": PAYMENT,
    "disburse": PAYMENT,
    # Which characters can be printed is a table of Unicode's.
    "createBatch": f"{AMOUNT}|name must be printable|orderReference must be text",
    # What fields say together, and what is an address, is not for a schema to say.
    "createLink": f"{AMOUNT}|{ORDER}|at most|printable characters on one line|description must not be empty"
    "|must be in the future|expiresAt must be a date|is for links without amount|must not be above maxAmount"
    "|is for reusable links|maxPayments must be a whole number|returnUrl must be an address",
    # What the wallet has, and what the fee leaves, is not for a schema to say.
    "createSettlement": f"{AMOUNT}|{ORDER}|smallest settlement|the wallet holds|printable characters on one line",
    "quote": AMOUNT,
    # How much of a payment is left is not for a schema to say.
    "refund": f"{AMOUNT}|{ORDER}|amount must be at most|at least 500",
    "list": f"{RANGE}|{ORDER}|providerReference must be text|before and page are two ways",
    "listWalletEntries": RANGE,
    "createApiKey": "must be in the future|expiresAt must be a date|at most 50 IP addresses or networks"  # host bits
    "|as a JSON integer|must not be below payoutLimit|printable characters on one line",
    "changeApiKey": "as a JSON integer|must not be below payoutLimit|printable characters on one line",
    "addPerson": "email must be an email|name must be printable",
    "listEvents": "after must be a cursor",
    "createWebhook": "^url must",
    "changeWebhook": "^url must",
    "recover": "since must be a date",
    "resetPassword": "too old",
    "changePassword": "is not right",
    "confirm": "is not right",
}


def _schema(*, requests: int, seed: int | None = None) -> Any:
    generation = {
        "max-examples": requests,
        "deterministic": seed is not None,
        "database": "none",
        # Credentials are ours to send; that none and a wrong one are refused is a check of its own.
        "with-security-parameters": False,
    }
    seeded = {} if seed is None else {"seed": seed}
    config = schemathesis.Config.from_dict({"generation": generation, "request-timeout": 240, **seeded})
    return schemathesis.openapi.from_dict(CONTRACT, config=config)


SCHEMA = _schema(requests=4, seed=20261115)  # The same every time.
NEW_REQUESTS = _schema(requests=50)


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_service_keeps_to_the_contract(label: str, world: World) -> None:
    """Examples, boundaries and random requests, of the right shape and of the wrong one, to every route.

    No answer is a 5xx, and every answer has a status, a content type, headers and a body that the contract names.
    Credentials that are missing or wrong are a 401, methods that are not there a 405 with `Allow`. Unknown fields are
    ignored by design, so request schemas allow them; whatever else breaks a schema is refused.
    """
    _try_route(SCHEMA, label, world)


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_service_keeps_to_the_contract_under_new_random_requests(label: str, world: World) -> None:
    _try_route(NEW_REQUESTS, label, world)


def _try_route(schema: Any, label: str, world: World) -> None:
    method, path = label.split(" ")

    def send(case: Case[Any]) -> None:
        _send(case, world)

    # What `SCHEMA.parametrize()` does, but here: there it thinks up all requests in every process that collects tests.
    load_all_checks()
    build_operation_test(
        config=schema.config,
        operation=schema[path][method],
        test_func=send,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()


def _send(case: Case[Any], world: World) -> None:
    operation = case.operation.definition.raw["operationId"].removesuffix("ByKey")
    is_right = case.meta is not None and case.meta.generation.mode.is_positive
    if is_right:
        world.make_real(operation, case)
    if operation == "listEvents" and str(case.query.get("wait")).isdecimal() and int(case.query["wait"]) <= 30:
        case.query["wait"] = 0  # Nothing happens while random requests are sent: who waits, waits in vain.
    excused: list[CheckFunction] = [positive_data_acceptance] if operation in BEYOND_SHAPE else []
    answer = case.call_and_validate(
        world.url, session=world.session, headers=world.headers_for(case), excluded_checks=excused
    )
    if is_right and excused and answer.status_code == 400:
        body = answer.json()
        sentences = list(itertools.chain(*body.get("details", {}).values())) or [body["error"]]
        assert [each for each in sentences if not re.search(BEYOND_SHAPE[operation], each)] == []


class ContractVisitor:
    """Somebody who does everything once, and holds each good answer against the contract."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: set[str] = set()

    def __call__(self, method: str, path: str, body: Any = None, *, token: str = "", at: str = "", **query: Any) -> Any:
        """The body of a good answer of the route that is at this path, or at the path `at` with an id in it."""
        headers = {"x-api-key": self._world.merchant.key} if path.startswith("/v1") else {}
        if path.startswith(("/merchant/auth", "/merchant/people")):  # Their attempts are counted by address.
            headers["x-forwarded-for"] = self._world.address()
        if path == "/metrics":
            token = METRICS_TOKEN
        if token:
            headers["Authorization"] = f"Bearer {token}"
        answer = self._world.session.request(
            method, self._world.url + (at or path), json=body, headers=headers, params=query, timeout=240
        )
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        SCHEMA[path][method].validate_response(answer)
        self.seen.add(f"{method} {path}")
        return answer.json() if "json" in answer.headers["content-type"] else answer.text


def test_every_good_answer_fits_the_contract(world: World) -> None:
    do = ContractVisitor(world)
    world.token = world.log_in(
        "owner@duka.example"
    )  # On a slow machine the random requests took longer than ten minutes.
    _pay(do, world)
    _meet(do, world)
    for base in ("/merchant/webhooks", "/v1/webhooks"):
        _listen(do, world, base)
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/docs.css"):
        do("GET", path)
    do("GET", "/docs/malipo.postman_collection.json")
    said = {"input_ResultCode": "INS-0", "input_ThirdPartyConversationID": "1M7EXJ8ZQ4T7K2WB"}
    do("POST", "/callbacks/{route}/{token}", said, at=f"/callbacks/mpesa/{CONNECTED['mpesa_callback_token']}")
    assert do.seen == set(OPERATIONS)


def _pay(do: ContractVisitor, world: World) -> None:
    payment = "/v1/payments/{id}"
    made = do("POST", "/v1/payments", COLLECTION | {"orderReference": "A-1042", "currency": "TZS"})["transaction"]
    do("POST", f"{payment}/cancel", at=f"/v1/payments/{made['reference']}/cancel")
    do("POST", "/v1/payments/disburse", PAYOUT)
    do("POST", f"{payment}/refund", {"reason": "Returned"}, at=f"/v1/payments/{world.collected}/refund")
    receipt = do("GET", f"{payment}/receipt", at=f"/v1/payments/{world.collected}/receipt")["receipt"]
    assert (receipt["id"], receipt["facts"]) == (world.collected, [])
    _pay_many(do, world)
    _link(do)
    _settle(do)
    for status, id_ in world.payments.items():
        if status is not Status.PENDING:  # The random requests may have cancelled it.
            assert do("GET", payment, at=f"/v1/payments/{id_}")["transaction"]["status"] == status
    assert do("GET", "/v1/payments", limit=100)["pagination"]["total"] >= len(Status)
    in_full = do("GET", "/v1/payments", limit=100, view="full")["transactions"]
    assert {each["status"] for each in in_full} == set(Status)
    assert do("GET", "/v1/payments", orderReference=made["orderReference"])["pagination"]["total"] >= 1
    do("POST", "/v1/payments/quote", {"type": "COLLECTION", "channel": "MPESA", "amount": 1000})
    unknown = do("POST", "/v1/recipients/lookup", {"channel": "MPESA", "phone": "+255754000001"})["recipient"]
    assert unknown["name"] is unknown["isRegistered"] is unknown["checkedAt"] is None
    do("GET", "/v1/channels", phone="+255754000100")
    do("GET", "/v1/wallet")
    assert do("GET", "/v1/wallet/entries")["entries"]
    assert do("GET", "/v1/wallet/entries", format="csv").startswith("line,kind,")


def _pay_many(do: ContractVisitor, world: World) -> None:
    path = "/v1/payments/disburse/batches"
    item = {name: PAYOUT[name] for name in ("amount", "channel", "recipientPhone")}
    batch = do("POST", path, {"name": "Wages", "items": [item, item]})["batch"]
    assert batch["warnings"]
    at = f"{path}/{batch['id']}"
    assert do("GET", f"{path}/{{id}}/items", at=f"{at}/items")["items"]
    assert do("POST", f"{path}/{{id}}/approve", at=f"{at}/approve")["batch"]["counts"]["PENDING"] == 2
    assert do("GET", f"{path}/{{id}}/items", at=f"{at}/items", format="csv").startswith("amount,channel,")
    assert do("POST", f"{path}/{{id}}/cancel", at=f"{at}/cancel")["batch"]["counts"]["CANCELLED"] == 2
    do("GET", f"{path}/{{id}}", at=at)
    assert do("GET", path)["batches"]


def _link(do: ContractVisitor) -> None:
    link = do("POST", "/v1/links", {"amount": 25_000, "description": "Order 1042", "orderReference": "A-1042"})["link"]
    open_ = {"description": "Roof", "minAmount": 1000, "maxAmount": 9000, "reusable": True, "maxPayments": 3}
    more = {"expiresAt": "2999-01-01", "returnUrl": "https://duka.example/done", "currency": "TZS"}
    do("POST", "/v1/links", open_ | more)
    at = f"/v1/links/{link['id']}"
    assert do("GET", "/v1/links/{id}", at=at)["link"]["paidCount"] == 0
    assert do("POST", "/v1/links/{id}/cancel", at=f"{at}/cancel")["link"]["status"] == "CANCELLED"
    assert do("GET", "/v1/links", status="CANCELLED")["links"]


def _settle(do: ContractVisitor) -> None:
    path = "/v1/settlements"
    made = do("POST", path, {"amount": 20_000, "orderReference": "W46", "currency": "TZS"})["settlement"]
    at = f"{path}/{made['id']}"
    assert do("GET", f"{path}/{{id}}", at=at)["settlement"]["netAmount"] == 20_000
    report = do("GET", f"{path}/{{id}}/report", at=f"{at}/report")["report"]
    assert report["opening"] + sum(each["net"] for each in report["groups"]) == report["closing"]
    assert do("GET", f"{path}/{{id}}/report", at=f"{at}/report", format="csv").startswith("line,group,")
    assert do("POST", f"{path}/{{id}}/cancel", at=f"{at}/cancel")["settlement"]["status"] == "CANCELLED"
    assert do("GET", path, status="CANCELLED")["settlements"]


def _meet(do: ContractVisitor, world: World) -> None:
    email, new_password = "mgeni@duka.example", "korosho saba mezani"
    added = do("POST", "/merchant/people", {"email": email, "role": "viewer"}, token=world.token)
    do("POST", "/merchant/auth/reset", {"token": added["passwordToken"], "password": PASSWORD})
    granted = do("POST", "/merchant/auth/login", {"email": email, "password": PASSWORD})
    granted = do("POST", "/merchant/auth/refresh", {"refreshToken": granted["refreshToken"]})
    do("POST", "/merchant/auth/confirm", {"password": PASSWORD}, token=granted["token"])
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
    changes = {"name": "Duka 2", "payoutLimit": 5000, "dailyPayoutLimit": 50_000}
    do("PATCH", "/merchant/api-keys/{id}", changes, token=world.token, at=f"/merchant/api-keys/{key['id']}")
    do("GET", "/merchant/api-keys", token=world.token)
    do("DELETE", "/merchant/api-keys/{id}", token=world.token, at=f"/merchant/api-keys/{key['id']}")


def _listen(do: ContractVisitor, world: World, hooks: str) -> None:
    one, token = f"{hooks}/{{id}}", world.token if hooks.startswith("/merchant") else ""

    def ask(method: str, path: str = "", body: Any = None, *, delivery: str = "", **query: Any) -> Any:
        at = f"{hooks}/{id_}{path.replace('{delivery}', delivery)}"
        return do(method, one + path, body, token=token, at=at, **query)

    # What random requests have registered could lead anywhere.
    for known in do("GET", hooks, token=token)["endpoints"]:
        id_ = known["id"]
        ask("DELETE")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(a_receiver()) as shop:
        # Of the payments that there are, one has told this.
        made = do("POST", hooks, {"url": shop.url("/"), "events": ["payout.failed"]}, token=token)["endpoint"]
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
            # A test alone does not make it failing. The event of that payment does.
            assert "failingSince" not in do("GET", hooks, token=token)["endpoints"][0]
            assert ask("POST", "/recover", {"since": "2026-01-01"})["recovered"] == 1
            until(lambda: "failingSince" in do("GET", hooks, token=token)["endpoints"][0])
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
