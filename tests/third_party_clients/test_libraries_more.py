"""What single libraries show beyond the scenes: their documented examples, their signatures, and what they take callbacks for."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.simulator.conftest import listener
from tests.simulator.processes import Listener, Sim, until
from tests.third_party_clients.client_library import NAMED
from tests.third_party_clients.conftest import Asking
from tests.third_party_clients.run_scenario import moved, new_reference, phone_of, prepare, settled

__all__ = ["listener"]

AIRTEL, CLICKPESA = "255684123345", "255621123345"


@pytest.mark.parametrize("name", ["pypesa", "python-pesa"])
async def test_the_test_number_and_the_bare_amount_of_the_documented_examples_are_taken(
    sim: Sim, asking: Callable[[str], Asking], name: str
) -> None:
    reference = new_reference()
    understood = asking(name)("collect", phone="000000000001", amount=10, reference=reference)
    assert understood.word == "accepted", understood
    await settled(sim, "MPESA", reference)
    understood = asking(name)("disburse", phone="000000000001", amount=250, reference=new_reference())
    assert understood.word == "accepted", understood
    book = await sim("GET", "/api/book")
    assert (book["charged"], book["paid"]) == (10, 250)


@pytest.mark.parametrize("name", ["pypesa", "python-pesa", "@openpesa/pesa-js"])
async def test_the_reply_of_a_synchronous_application_is_final(
    sim: Sim, asking: Callable[[str], Asking], name: str
) -> None:
    await sim.control(channels={"MPESA": {"mode": "sync"}})
    reference = new_reference()
    paid = asking(name)("collect", phone="255754123345", amount="1500", reference=reference)
    assert paid.word == "accepted"
    assert paid.shown["output_TransactionID"] == (await settled(sim, "MPESA", reference))["receipt"]
    declined = asking(name)("collect", phone="255754123101", amount="1500", reference=new_reference())
    assert (declined.word, declined.shown["output_ResponseCode"]) == ("refused", "INS-5")


async def test_pypesa_can_use_a_client_once_because_the_session_replaces_the_key(
    sim: Sim, asking: Callable[[str], Asking]
) -> None:
    reference = new_reference()
    understood = asking("pypesa")("collect_twice", phone="255754123345", amount="1500", reference=reference)
    assert understood == ("broke", "KeyError: 'output_SessionID'")
    assert await moved(sim, "255754123345", [("charged", 1500)]) == [("charged", 1500)]


async def test_a_signature_of_airtelmoney_py_is_the_one_that_is_required(
    sim: Sim, asking: Callable[[str], Asking]
) -> None:
    await sim.control(channels={"AIRTEL_MONEY": {"signing": "required"}})
    ask = asking("airtelmoney-py")
    fields: dict[str, Any] = {"phone": AIRTEL, "amount": 1500}
    assert ask("collect", reference=new_reference(), **fields).word == "accepted"
    unsigned = ask("collect", reference=new_reference(), sign=False, **fields)
    assert unsigned.word == "refused"
    assert "DP00800001026" in unsigned.shown


@pytest.mark.parametrize(("form", "word"), [("signedObject", "accepted"), ("signed", "refused")])
async def test_airtelmoney_py_takes_the_hash_of_a_callback_over_the_transaction_alone(
    sim: Sim, asking: Callable[[str], Asking], listener: Listener, form: str, word: str
) -> None:
    await sim.control(channels={"AIRTEL_MONEY": {"callbackForm": form}})
    ask = asking("airtelmoney-py")
    ask("collect", phone=AIRTEL, amount=1500, reference=new_reference())
    await until(lambda: len(listener.calls) == 1)
    answer = listener.calls[0].body
    assert ask("verify", body=answer).word == word
    assert ask("verify", body={**answer, "transaction": {**answer["transaction"], "id": "forged"}}).word == "refused"


# What pyairtel cannot collect itself, it can ask about: TE, an expired prompt, is a status that it does not know.
@pytest.mark.parametrize(
    ("digits", "word"), [("345", "paid"), ("101", "failed"), ("109", "pending"), ("103", "unknown")]
)
async def test_pyairtel_reads_what_another_library_collected(
    sim: Sim, asking: Callable[[str], Asking], digits: str, word: str
) -> None:
    phone, reference = phone_of(NAMED["pyairtel"], digits), new_reference()
    assert asking("airtelmoney-py")("collect", phone=phone, amount=1500, reference=reference).word == "accepted"
    if word != "pending":
        await settled(sim, "AIRTEL_MONEY", reference)
    assert asking("pyairtel")("query", reference=reference).word == word


async def test_version_2_of_airtel_money_node_sdk_asks_for_the_key_of_another_country(
    sim: Sim, asking: Callable[[str], Asking]
) -> None:
    assert asking("airtel-money-node-sdk")("pay_v2", phone=AIRTEL, amount=1500).word == "refused"
    (refused, *_) = await sim("GET", "/api/seen?channel=AIRTEL_MONEY")
    assert (refused["path"], refused["status"]) == ("/airtel/v1/rsa/encryption-keys", 400)


@pytest.mark.parametrize("name", ["clickpesa", "clickpesa-python-sdk"])
async def test_a_preview_needs_no_number(sim: Sim, asking: Callable[[str], Asking], name: str) -> None:
    await prepare(sim, NAMED[name])
    understood = asking(name)("preview", amount=1500, reference=new_reference())
    assert understood.word == "accepted", understood
    assert understood.shown


@pytest.mark.parametrize(("name", "shown"), [("clickpesa", "403 "), ("clickpesa-python-sdk", "ForbiddenError: ")])
async def test_a_wrong_key_of_clickpesa_is_forbidden(
    sim: Sim, asking: Callable[[str], Asking], name: str, shown: str
) -> None:
    keys = {"CLICKPESA": sim.credentials["CLICKPESA"] | {"apiKey": "somebody-elses"}}
    fields: dict[str, Any] = {"phone": CLICKPESA, "amount": 1500, "reference": new_reference()}
    understood = asking(name)("collect", credentials=keys, **fields)
    assert understood.word == "not let in"
    assert understood.shown.startswith(shown)


async def test_clickpesa_cannot_read_its_own_query_because_it_takes_a_list_for_an_object(
    sim: Sim, asking: Callable[[str], Asking]
) -> None:
    await prepare(sim, NAMED["clickpesa"])
    reference = new_reference()
    asking("clickpesa")("collect", phone=CLICKPESA, amount=1500, reference=reference)
    await settled(sim, "CLICKPESA", reference)
    understood = asking("clickpesa")("is_completed", reference=reference)
    assert understood.word == "broke"
    assert understood.shown.startswith("TypeError: list indices")


async def test_clickpesa_python_sdk_believes_callbacks_of_clickpesa_and_no_others(
    sim: Sim, asking: Callable[[str], Asking], listener: Listener
) -> None:
    ask = asking("clickpesa-python-sdk")
    await prepare(sim, NAMED["clickpesa-python-sdk"])
    ask("collect", phone=CLICKPESA, amount=1500, reference=new_reference())
    await until(lambda: len(listener.calls) == 1)
    answer = listener.calls[0].body
    assert ask("verify", body=answer).word == "accepted"
    assert ask("verify", body={**answer, "event": "PAYMENT FAILED"}).word == "refused"


# Its Status is a bool of Flask-RESTful's, for which every text but the empty one is true.
@pytest.mark.parametrize(
    ("form", "digits", "word"),
    [("boolean", "345", "paid"), ("boolean", "101", "failed"), ("string", "345", "paid"), ("string", "101", "paid")],
)
async def test_tigopesasdk_takes_a_callback_and_is_acknowledged_but_reads_the_text_false_as_paid(
    sim: Sim, asking: Callable[[str], Asking], form: str, digits: str, word: str
) -> None:
    ask, phone, reference = asking("tigopesasdk"), phone_of(NAMED["tigopesasdk"], digits), new_reference()
    await sim.control(channels={"TIGO_PESA": {"callbackStatus": form}})
    await sim("PUT", "/api/callbacks", {"TIGO_PESA": ask("listen").shown})
    ask("collect", phone=phone, amount=1500, reference=reference)
    payment = await settled(sim, "TIGO_PESA", reference)
    assert await _told(sim) == ["acknowledged"]
    understood = ask("heard", reference=reference)
    assert understood.word == word
    assert (understood.shown["mfs_transaction_id"], understood.shown["amount"]) == (payment["receipt"], "1500")


async def _told(sim: Sim) -> list[str]:
    """What the network thinks of how its callbacks were acknowledged, when each has been."""
    deadline = time.monotonic() + 240
    while True:
        seen = [each["verdict"] for each in await sim("GET", "/api/seen") if each["direction"] == "out"]
        if seen and all(seen):
            return seen
        assert time.monotonic() < deadline, "Nobody was told."
        await asyncio.sleep(0.02)
