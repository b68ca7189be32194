"""AzamPay's wire: its token and checksum, payouts on every network, their query, names, and callbacks."""

from typing import Any

import pytest

from tests.simulator.azampay.client import Azampay
from tests.simulator.processes import Listener, Sim, until

PHONE = "+255621123345"
DUPLICATE = "Detected duplicate transaction: Duplicate ExternalReferenceId"


async def test_a_token_says_how_long_it_is_good(azampay: Azampay) -> None:
    answer = await azampay.log_in()
    assert answer.status == 200
    assert (answer.body["success"], answer.body["data"]["expire"][-1]) == (True, "Z")


@pytest.mark.parametrize("name", ["appName", "clientId", "clientSecret"])
async def test_a_wrong_log_in_is_refused(azampay: Azampay, name: str) -> None:
    answer = await azampay.log_in(**{name: "somebody-elses"})
    assert (answer.status, answer.body["success"], answer.body["data"]) == (423, False, None)


async def test_without_a_token_nothing_is_shown_or_done(azampay: Azampay, sim: Sim) -> None:
    azampay.token = "x"
    answers = [await azampay.disburse(PHONE), await azampay.ask(pgReferenceId="x"), await azampay.look_up(PHONE)]
    assert {each.status for each in answers} == {401}
    assert await sim.charged(PHONE) == []


async def test_a_token_ends_with_its_time(azampay: Azampay, sim: Sim) -> None:
    await sim.control(channels={"AZAMPAY": {"tokenSeconds": 0}})
    await azampay.open()
    assert (await azampay.ask(pgReferenceId="x")).status == 401


@pytest.mark.parametrize(
    ("bank", "channel"),
    [("Vodacom", "MPESA"), ("Yas", "TIGO_PESA"), ("Airtel", "AIRTEL_MONEY"), ("Halotel", "HALOPESA")],
)
async def test_a_payout_goes_to_the_network_that_is_named_and_not_to_that_of_the_prefix(
    azampay: Azampay, sim: Sim, bank: str, channel: str
) -> None:
    azampay.bank = bank
    answer = await azampay.disburse(PHONE, 700, "salary1")
    assert answer.status == 200
    assert (answer.body["success"], answer.body["message"]) == (True, "Your transaction is in process")
    found = await sim("GET", "/api/transactions/AZAMPAY/salary1")
    assert (found["gateway"], found["channel"], found["networkId"]) == (
        "AZAMPAY",
        channel,
        answer.body["pgReferenceId"],
    )
    assert await sim.charged(PHONE) == [("paid", 700)]
    asked = await azampay.ask(pgReferenceId=answer.body["pgReferenceId"])
    assert (asked.body["status"], asked.body["initiatorReferenceId"], asked.body["amount"]) == (
        "success",
        "salary1",
        "700",
    )
    assert asked.body["fspReferenceId"] == found["receipt"]


@pytest.mark.parametrize("bank", ["tigo", "halotel", "YAS", "Azampesa", "", "Mpesa"])
async def test_the_name_of_a_network_is_taken_in_its_own_letters(azampay: Azampay, sim: Sim, bank: str) -> None:
    payload = azampay.payload(PHONE)
    payload["destination"]["bankName"] = bank
    answer = await azampay.send(payload)
    assert (answer.status, answer.body["success"], answer.body["pgReferenceId"]) == (400, False, None)
    assert bank == "" or answer.body["message"] == "Invalid BankName."
    assert await sim.charged(PHONE) == []


WRONG: list[tuple[str, Any]] = [
    ("externalReferenceId", "x" * 31),
    ("externalReferenceId", "a b"),
    ("externalReferenceId", None),
    ("transferDetails.amount", "1000"),
    ("transferDetails.amount", 0),
    ("transferDetails.amount", 10_000_001),
    ("transferDetails.dateInEpoch", 1),
    ("transferDetails.dateInEpoch", None),
    ("transferDetails.type", ""),
    ("destination.accountNumber", "0621123345"),
    ("destination.fullName", " "),
    ("source.accountNumber", None),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
async def test_a_bad_field_is_refused(azampay: Azampay, sim: Sim, path: str, value: Any) -> None:
    payload = azampay.payload(PHONE)
    *parts, last = path.split(".")
    (payload[parts[0]] if parts else payload)[last] = value
    answer = await azampay.send(payload)
    assert answer.status == 400
    assert answer.body["message"].startswith("Invalid request data: ")
    assert await sim.charged(PHONE) == []


async def test_a_checksum_is_taken_over_the_accounts_first(azampay: Azampay, sim: Sim) -> None:
    payload = azampay.payload(PHONE)
    for text in ("", azampay.text_of(payload) + " ", azampay.text_of(azampay.payload(PHONE, reference="other"))):
        answer = await azampay.send(payload, text=text)
        assert (answer.status, answer.body["message"]) == (400, "Invalid Checksum")
    for checksum in (None, "", "not base64", "AAAA"):
        answer = await azampay.call("POST", f"{azampay.base}/disburse", payload | {"checksum": checksum})
        assert (answer.status, answer.body["message"]) == (400, "Invalid Checksum")
    assert (await azampay.send(payload)).status == 200
    await sim.control(channels={"AZAMPAY": {"checksum": "bank"}})
    payload = azampay.payload(PHONE)
    details, number = payload["transferDetails"], payload["destination"]["accountNumber"]
    text = f"Halotel{number}TZS1000{details['dateInEpoch']}{payload['externalReferenceId']}"
    assert (await azampay.send(payload)).status == 400
    assert (await azampay.send(payload, text=text)).status == 200


@pytest.mark.parametrize("late", [-1000, 1000])
async def test_a_request_from_another_time_has_expired(azampay: Azampay, sim: Sim, late: int) -> None:
    payload = azampay.payload(PHONE)
    payload["transferDetails"]["dateInEpoch"] += late
    answer = await azampay.send(payload)
    assert (answer.status, answer.body["message"]) == (402, "Request expired")
    assert await sim.charged(PHONE) == []


@pytest.mark.parametrize("status", ["403", "400", "200"])
async def test_a_reference_is_taken_once_and_the_refusal_does_not_name_the_first(
    azampay: Azampay, sim: Sim, status: str
) -> None:
    await sim.control(channels={"AZAMPAY": {"duplicateStatus": status}})
    assert (await azampay.disburse(PHONE, 1000, "salary2")).status == 200
    again = await azampay.disburse(PHONE, 2000, "salary2")
    assert (again.status, again.body["success"], again.body["pgReferenceId"]) == (int(status), False, None)
    assert again.body["message"].startswith(DUPLICATE)
    assert await sim.charged(PHONE) == [("paid", 1000)]


async def test_a_query_wants_one_name_and_the_right_network(azampay: Azampay, sim: Sim) -> None:
    network_id = (await azampay.disburse(PHONE, 1000, "salary3")).body["pgReferenceId"]
    assert (await azampay.ask()).status == 400
    assert (await azampay.ask(pgReferenceId=network_id, externalReferenceId="salary3")).status == 400
    assert (await azampay.ask(pgReferenceId=network_id, bankName="Yas")).status == 404
    unknown = await azampay.ask(pgReferenceId="nobodys")
    assert (unknown.status, unknown.body["success"], unknown.body["status"]) == (404, False, "Failure")
    assert (await azampay.ask(externalReferenceId="salary3")).body["pgReferenceId"] == network_id
    await sim.control(channels={"AZAMPAY": {"findsByReference": False}})
    assert (await azampay.ask(externalReferenceId="salary3")).status == 400
    assert (await azampay.ask(pgReferenceId=network_id)).status == 200


async def test_a_query_may_name_no_status(azampay: Azampay, sim: Sim) -> None:
    network_id = (await azampay.disburse(PHONE)).body["pgReferenceId"]
    await sim.control(channels={"AZAMPAY": {"namesStatus": False}})
    shown = (await azampay.ask(pgReferenceId=network_id)).body
    assert set(shown) == {"statusCode", "success", "message", "pgReferenceId"}


async def test_names_are_answered_with_a_right_checksum_or_without_one(azampay: Azampay) -> None:
    found = await azampay.look_up(PHONE)
    assert (found.status, found.body["status"], found.body["accountNumber"]) == (200, True, PHONE[1:])
    assert found.body["name"] == f"{found.body['fName']} {found.body['lName']}"
    assert (await azampay.look_up(PHONE, checksum=None)).body["name"] == found.body["name"]
    assert (await azampay.look_up(PHONE, checksum=azampay.checksum("x"))).status == 400
    assert (await azampay.look_up(PHONE, bankName="tigo")).status == 400
    nobody = await azampay.look_up("+255621123101")
    assert (nobody.body["status"], nobody.body["message"]) == (False, "Account not found")


async def test_a_callback_comes_in_two_forms_and_unsigned(azampay: Azampay, sim: Sim, listener: Listener) -> None:
    network_id = (await azampay.disburse(PHONE, 1000, "salary4")).body["pgReferenceId"]
    await until(lambda: len(listener.calls) == 1)
    answer = listener.calls[0].body
    assert (answer["initiatorReferenceId"], answer["pgReferenceId"]) == ("salary4", network_id)
    assert (answer["status"], answer["amount"], answer["operator"]) == ("success", "1000", "Halotel")
    assert "signature" not in answer
    await sim.control(channels={"AZAMPAY": {"callbackForm": "collections"}})
    await azampay.disburse(PHONE, 1000, "salary5")
    await until(lambda: len(listener.calls) == 2)
    answer = listener.calls[1].body
    assert (answer["utilityref"], answer["transactionstatus"], answer["reference"]) == (
        "salary5",
        "success",
        answer["transid"],
    )
