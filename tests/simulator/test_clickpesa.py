"""ClickPesa's wire: its token and checksum, payments and payouts on every network, and its webhooks."""

import asyncio
import hashlib
import hmac

import pytest

from tests.simulator.clickpesa import Clickpesa
from tests.simulator.conftest import SPEED
from tests.simulator.processes import Listener, Sim, until

PHONE = "+255622123456"
COLLECT = "/payments/initiate-ussd-push-request"
PAY_OUT = "/payouts/create-mobile-money-payout"


async def test_a_token_comes_with_its_scheme(clickpesa: Clickpesa) -> None:
    answer = await clickpesa.log_in()
    assert answer.body["success"] is True
    assert answer.body["token"].startswith("Bearer ")


@pytest.mark.parametrize("changes", [{"client-id": "x"}, {"api-key": "x"}, {"api-key": ""}])
async def test_a_wrong_log_in_is_refused(clickpesa: Clickpesa, changes: dict[str, str]) -> None:
    answer = await clickpesa.log_in(**changes)
    assert (answer.status, list(answer.body)) == (403, ["message"])


async def test_without_a_token_nothing_is_shown_or_done(clickpesa: Clickpesa, sim: Sim) -> None:
    for token in ("", "Bearer x", clickpesa.token.removeprefix("Bearer ")):
        clickpesa.token = token
        assert (await clickpesa.collect(PHONE)).status == 401
        assert (await clickpesa.ask("payment", "x")).status == 401
    assert await sim("GET", "/api/prompts") == []


async def test_a_token_ends_with_its_time_and_with_its_checksum_settings(clickpesa: Clickpesa, sim: Sim) -> None:
    await sim.control(channels={"CLICKPESA": {"checksum": "off"}})
    assert (await clickpesa.ask("payment", "x")).status == 401
    await clickpesa.open()
    assert (await clickpesa.ask("payment", "x")).status == 404
    await sim.control(channels={"CLICKPESA": {"tokenSeconds": 0.1}})
    await clickpesa.open()
    await asyncio.sleep(0.15)
    assert (await clickpesa.ask("payment", "x")).status == 401


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("phone", "channel", "shown"),
    [
        ("+255754123456", "MPESA", "M-PESA"),
        ("+255684123456", "AIRTEL_MONEY", "AIRTEL-MONEY"),
        ("+255714123456", "TIGO_PESA", "TIGO-PESA"),
        ("+255621123456", "HALOPESA", "HALOPESA"),
    ],
)
async def test_it_reaches_every_network_both_ways(
    clickpesa: Clickpesa, sim: Sim, phone: str, channel: str, shown: str
) -> None:
    answer = await clickpesa.collect(phone, "2500", "order1")
    assert answer.status == 200
    for name in ("id", "createdAt", "clientId"):
        assert answer.body.pop(name)
    assert answer.body == {
        "status": "PROCESSING",
        "channel": shown,
        "orderReference": "order1",
        "collectedAmount": "2500",
        "collectedCurrency": "TZS",
    }
    assert [each["channel"] for each in await sim("GET", "/api/prompts")] == [channel]
    paid = await clickpesa.disburse(phone, 700, "salary1")
    assert (paid.body["channelProvider"], paid.body["status"]) == (shown, "AUTHORIZED")
    book = await sim("GET", f"/api/book?channel={channel}")
    assert [(each["kind"], each["reference"]) for each in book["movements"]] == [("paid", "salary1")]
    for name in (channel, "CLICKPESA"):
        found = await sim("GET", f"/api/transactions/{name}/order1")
        assert (found["gateway"], found["channel"]) == ("CLICKPESA", channel)


async def test_a_payout_costs_more_than_it_pays(clickpesa: Clickpesa, sim: Sim) -> None:
    body = (await clickpesa.disburse(PHONE, 5000, "salary2")).body
    assert body["amount"] == body["order"]["amount"] + body["fee"] > 5000
    assert body["order"] == {"amount": 5000, "currency": "TZS"}
    assert (body["beneficiary"]["accountNumber"], body["beneficiary"]["amount"]) == (PHONE[1:], 5000)
    assert await sim.charged(PHONE) == [("paid", 5000)]


@pytest.mark.parametrize("phone", ["+255734123456", "0622123456"])
async def test_a_number_of_no_network_is_refused(clickpesa: Clickpesa, phone: str) -> None:
    for answer in (await clickpesa.collect(phone), await clickpesa.disburse(phone)):
        assert (answer.status, answer.body) == (400, {"message": "Invalid / unsupported phone number"})


BAD_FIELDS = [
    ("amount", None),
    ("amount", "0"),
    ("amount", "10.5"),
    ("amount", 0),
    ("amount", True),
    ("currency", "USD"),
    ("orderReference", ""),
    ("orderReference", "a-b"),
    ("phoneNumber", "0622123456"),
    ("phoneNumber", 255622123456),
]


@pytest.mark.parametrize("path", [COLLECT, PAY_OUT])
async def test_a_bad_field_is_refused(clickpesa: Clickpesa, sim: Sim, path: str) -> None:
    observed = []
    for field, value in BAD_FIELDS:
        payload = clickpesa.payload(PHONE, "1000" if path == COLLECT else 1000) | {field: value}
        answer = await clickpesa.send(path, payload)
        observed.append((field, value) if (answer.status, list(answer.body)) == (400, ["message"]) else answer)
    assert observed == BAD_FIELDS
    assert (await sim("GET", "/api/book"))["movements"] == []


async def test_a_payment_is_asked_for_in_text_and_a_payout_in_a_number(clickpesa: Clickpesa) -> None:
    assert (await clickpesa.collect(PHONE, 1000)).status == 400
    assert (await clickpesa.disburse(PHONE, "1000")).status == 400


async def test_the_checksum_is_over_sorted_compact_json(clickpesa: Clickpesa) -> None:
    payload = clickpesa.payload(PHONE, "1000")
    text = '{"amount":"1000","currency":"TZS","orderReference":"%s","phoneNumber":"255622123456"}'
    signed = (text % payload["orderReference"]).encode()
    checksum = hmac.new(clickpesa.given["checksumSecret"].encode(), signed, hashlib.sha256).hexdigest()
    backwards = dict(reversed(payload.items())) | {"checksum": checksum, "checksumMethod": "canonical"}
    assert (await clickpesa.call("POST", COLLECT, backwards)).status == 200


@pytest.mark.parametrize("checksum", [None, "", "x", "0" * 64])
async def test_a_wrong_checksum_is_refused(clickpesa: Clickpesa, checksum: str | None) -> None:
    answer = await clickpesa.call("POST", COLLECT, clickpesa.payload(PHONE, "1000") | {"checksum": checksum})
    assert (answer.status, answer.body) == (400, {"message": "Invalid checksum"})


async def test_the_checksum_can_be_of_the_older_kind_or_off(clickpesa: Clickpesa, sim: Sim) -> None:
    await sim.control(channels={"CLICKPESA": {"checksum": "values"}})
    await clickpesa.open()
    payload = clickpesa.payload(PHONE, "1000", "order9")
    signed = b"1000TZSorder9255622123456"
    checksum = hmac.new(clickpesa.given["checksumSecret"].encode(), signed, hashlib.sha256).hexdigest()
    assert (await clickpesa.send(COLLECT, payload)).status == 400
    assert (await clickpesa.call("POST", COLLECT, payload | {"checksum": checksum})).status == 200
    await sim.control(channels={"CLICKPESA": {"checksum": "off"}})
    await clickpesa.open()
    assert (await clickpesa.call("POST", COLLECT, clickpesa.payload(PHONE, "1000"))).status == 200


async def test_a_repeated_order_is_a_conflict_and_pays_nothing(clickpesa: Clickpesa, sim: Sim) -> None:
    await clickpesa.disburse(PHONE, 1000, "order2")
    for again in (await clickpesa.disburse(PHONE, 1000, "order2"), await clickpesa.collect(PHONE, "1000", "order2")):
        assert (again.status, list(again.body)) == (409, ["message"])
    await asyncio.sleep(4 / SPEED)
    assert await sim.charged(PHONE) == [("paid", 1000)]


async def test_a_preview_does_nothing(clickpesa: Clickpesa, sim: Sim) -> None:
    payload = clickpesa.payload(PHONE, "1000")
    shown = await clickpesa.send("/payments/preview-ussd-push-request", payload)
    assert shown.body["activeMethods"][0]["name"] == "HALOPESA"
    payout = await clickpesa.send("/payouts/preview-mobile-money-payout", payload | {"amount": 1000})
    assert payout.body["order"]["amount"] == 1000
    assert payout.body["receiver"]["accountName"]
    assert (await clickpesa.ask("payment", payload["orderReference"])).status == 404
    assert (await sim("GET", "/api/book"))["movements"] == []


async def test_a_preview_needs_no_more_than_an_amount_and_an_order(clickpesa: Clickpesa) -> None:
    shown = await clickpesa.send("/payments/preview-ussd-push-request", {"amount": "1000", "orderReference": "order7"})
    names = [each["name"] for each in shown.body["activeMethods"]]
    assert names == ["M-PESA", "AIRTEL-MONEY", "TIGO-PESA", "HALOPESA"]
    path, payout = "/payouts/preview-mobile-money-payout", {"amount": 1000, "orderReference": "order7"}
    assert (await clickpesa.send(path, payout)).body["order"]["amount"] == 1000
    for wrong in ({"phoneNumber": "0622123456"}, {"currency": "USD"}, {"orderReference": ""}, {"amount": 0}):
        assert (await clickpesa.send(path, payout | wrong)).status == 400
    await clickpesa.disburse(PHONE, 1000, "order7")
    assert (await clickpesa.send(path, payout)).status == 409


@pytest.mark.parametrize("path", [COLLECT, PAY_OUT])
@pytest.mark.parametrize("field", ["phoneNumber", "currency"])
async def test_a_payment_needs_more_than_its_preview(clickpesa: Clickpesa, sim: Sim, path: str, field: str) -> None:
    payload = clickpesa.payload(PHONE, "1000" if path == COLLECT else 1000)
    del payload[field]
    assert (await clickpesa.send(path, payload)).status == 400
    assert (await sim("GET", "/api/prompts"), (await sim("GET", "/api/book"))["movements"]) == ([], [])


async def statuses(clickpesa: Clickpesa, sim: Sim, listener: Listener, digits: str) -> tuple[str, str, str]:
    """The first event about a payout, the status in it, and what a query says at that moment."""
    await sim.control(speed=1)
    await clickpesa.disburse(f"+255622123{digits}", 1000, "salary6")
    await until(lambda: bool(listener.calls))
    body = listener.calls[0].body
    return body["event"], body["data"]["status"], await clickpesa.status("payout", "salary6")


async def test_a_payout_that_has_only_begun_is_called_a_success(
    clickpesa: Clickpesa, sim: Sim, listener: Listener
) -> None:
    assert await statuses(clickpesa, sim, listener, "100") == ("PAYOUT INITIATED", "SUCCESS", "AUTHORIZED")
    assert await sim.charged("+255622123100") == []


async def test_what_a_begun_payout_is_called_can_be_chosen(clickpesa: Clickpesa, sim: Sim, listener: Listener) -> None:
    await sim.control(channels={"CLICKPESA": {"initiatedStatus": "ON-HOLD"}})
    assert await statuses(clickpesa, sim, listener, "109") == ("PAYOUT INITIATED", "ON-HOLD", "AUTHORIZED")


async def test_a_query_answers_with_a_list(clickpesa: Clickpesa, listener: Listener) -> None:
    await clickpesa.collect(PHONE, "1000", "order3")
    await until(lambda: bool(listener.calls))
    (found,) = (await clickpesa.ask("payment", "order3")).body
    assert (found["status"], found["collectedAmount"], found["message"]) == ("SUCCESS", "1000", "Payment successful")
    assert found["paymentReference"]
    assert found["paymentPhoneNumber"] == PHONE[1:]
    await clickpesa.disburse(PHONE, 700, "salary3")
    (paid,) = (await clickpesa.ask("payout", "salary3")).body
    assert (paid["status"], paid["order"]["amount"]) == ("SUCCESS", 700)


async def test_each_kind_has_its_own_query(clickpesa: Clickpesa) -> None:
    await clickpesa.disburse(PHONE, 1000, "salary4")
    answer = await clickpesa.ask("payment", "salary4")
    assert (answer.status, list(answer.body)) == (404, ["message"])


async def test_a_webhook_is_signed_and_says_what_happened(clickpesa: Clickpesa, listener: Listener) -> None:
    await clickpesa.collect(PHONE, "1000", "order5")
    await until(lambda: bool(listener.calls))
    body = listener.calls[0].body
    checksum = body.pop("checksum")
    assert list(body) == ["event", "data"]
    assert checksum == clickpesa.checksum(body)
    assert (body["event"], body["data"]["orderReference"], body["data"]["status"]) == (
        "PAYMENT RECEIVED",
        "order5",
        "SUCCESS",
    )


async def test_a_webhook_without_checksums_has_none(clickpesa: Clickpesa, sim: Sim, listener: Listener) -> None:
    await sim.control(channels={"CLICKPESA": {"checksum": "off"}})
    await clickpesa.open()
    await clickpesa.collect(PHONE)
    await until(lambda: bool(listener.calls))
    assert list(listener.calls[0].body) == ["event", "data"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("POST", "/payments/x"), ("DELETE", "/payouts/x")])
async def test_an_unknown_path_is_not_found(clickpesa: Clickpesa, method: str, path: str) -> None:
    answer = await clickpesa.call(method, path)
    assert (answer.status, list(answer.body)) == (404, ["message"])
