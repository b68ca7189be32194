"""What queries say when they go wrong, when they know nothing yet, and while a payment is under way."""

import asyncio

import pytest

from tests.simulator.airtel import Airtel
from tests.simulator.clickpesa import Clickpesa
from tests.simulator.conftest import SPEED
from tests.simulator.merchant_clients import Merchant
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Sim
from tests.simulator.tigo import Tigo

PHONE = "+255754123456"
PATIENT = "+255754123100"

# Every query there is.
ASKED = [
    ("MPESA", "collection"),
    ("MPESA", "disbursement"),
    ("AIRTEL_MONEY", "collection"),
    ("AIRTEL_MONEY", "disbursement"),
    ("TIGO_PESA", "collection"),
    ("CLICKPESA", "collection"),
    ("CLICKPESA", "disbursement"),
    ("AZAMPAY", "disbursement"),
]

GOOD_ENDS = ("Completed", "TS", "Posted", "SUCCESS", "success")


async def paid(merchant: Merchant, kind: str) -> str:
    """The reference of a payment that came to a good end."""
    reference = merchant.reference()
    await merchant.pay(kind, merchant.start + "456", reference)
    async with asyncio.timeout(240):
        while await merchant.status(kind, reference) not in GOOD_ENDS:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return reference


@pytest.mark.parametrize(("channel", "kind"), ASKED)
async def test_every_query_errs_as_it_is_told_to_and_payments_do_not(
    sim: Sim, merchants: dict[str, Merchant], channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    reference = await paid(merchant, kind)
    before = await merchant.status(kind, reference)
    code = "503" if channel in ("CLICKPESA", "AZAMPAY") else "NEVER-SEEN-1"
    await sim.control(channels={channel: {"queryError": code}})
    assert [await merchant.status(kind, each) for each in (reference, "nothing")] == [code] * 2
    assert await merchant.pay(kind, merchant.start + "457", merchant.reference()) == await merchant.pay(
        kind, merchant.start + "458", merchant.reference()
    )
    await sim.control(channels={channel: {"queryError": None}})
    assert await merchant.status(kind, reference) == before


async def test_a_query_error_stands_where_its_network_puts_it(
    sim: Sim, mpesa: Mpesa, airtel: Airtel, tigo: Tigo, clickpesa: Clickpesa
) -> None:
    await sim.control(channels={"MPESA": {"queryError": "INS-1"}, "CLICKPESA": {"queryError": "404"}})
    answer = await mpesa.ask("x")
    assert (answer.status, answer.code, answer.body["output_ResponseDesc"]) == (400, "INS-1", "Internal Error")
    assert "output_ResponseTransactionStatus" not in answer.body
    refused = await clickpesa.ask("payout", "x")
    assert (refused.status, list(refused.body)) == (404, ["message"])
    await sim.control(channels={"TIGO_PESA": {"queryError": "GetSOError077"}})
    details = (await tigo.ask("x")).body
    assert (details["RESULTCODE"], details["TXNSTATUS"], details["EXTERNALREFID"]) == ("GetSOError077", "", "x")
    fields = []
    for code in ("DP00800001000", "ESB000008"):
        await sim.control(channels={"AIRTEL_MONEY": {"queryError": code}})
        body = (await airtel.ask("payment", "x")).body
        assert "data" not in body
        fields.append((body["status"].get("response_code"), body["status"]["result_code"], body["status"]["success"]))
    assert fields == [("DP00800001000", "ESB000014", False), (None, "ESB000008", False)]


@pytest.mark.parametrize(("channel", "kind"), ASKED)
async def test_a_query_can_refuse_credentials_with_which_payments_work(
    sim: Sim, merchants: dict[str, Merchant], channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    reference = await paid(merchant, kind)
    await sim.control(channels={channel: {"wrongQueryCredentials": True, "queryError": None}})
    refused = {"MPESA": "INS-2001", "TIGO_PESA": "GetSOError001"}  # all others HTTP 403
    assert await merchant.status(kind, reference) == refused.get(channel, "403")
    phone = merchant.start + "459"
    await merchant.pay(kind, phone, merchant.reference())
    await asyncio.sleep(3 / SPEED)
    assert len(await sim.charged(phone)) == 1


NOT_FOUND = {
    ("MPESA", "collection"): "INS-23",
    ("MPESA", "disbursement"): "INS-23",
    ("AIRTEL_MONEY", "collection"): "DP00800001025",
    ("AIRTEL_MONEY", "disbursement"): "DP00900001015",
    ("TIGO_PESA", "collection"): "GetSOError010",
    ("CLICKPESA", "collection"): "404",
    ("CLICKPESA", "disbursement"): "404",
    ("AZAMPAY", "disbursement"): "404",
}


@pytest.mark.parametrize(("channel", "kind"), ASKED)
async def test_what_is_new_is_hidden_from_every_query(
    sim: Sim, merchants: dict[str, Merchant], channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    reference = merchant.reference()
    await sim.control(channels={channel: {"notFoundSeconds": 86_400}})
    await merchant.pay(kind, merchant.start + "456", reference)
    assert await merchant.status(kind, reference) == NOT_FOUND[channel, kind]
    await sim.control(channels={channel: {"notFoundSeconds": 0}})
    assert await merchant.status(kind, reference) != NOT_FOUND[channel, kind]


async def test_what_is_not_found_has_its_networks_words(sim: Sim, mpesa: Mpesa, tigo: Tigo) -> None:
    answer = await mpesa.ask("x")
    assert (answer.status, answer.body["output_ResponseDesc"]) == (400, "Unknown Status Contact M-Pesa Support")
    await sim.control(channels={"MPESA": {"notFoundCode": "INS-6140"}, "TIGO_PESA": {"notFoundCode": "GetSOError011"}})
    assert await mpesa.status("x") == "INS-6140"
    assert await tigo.status("x") == "GetSOError011"
    await sim.control(channels={"MPESA": {"notFoundCode": "both"}})
    found = [await mpesa.status("x") for _ in range(4)]
    assert sorted(found[:2]) == sorted(found[2:]) == ["INS-23", "INS-6140"]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("said", ["Pending", "N/A", "", "Submitted", "INS-23", "INS-9"])
async def test_what_mpesa_says_of_a_payment_under_way_can_be_chosen(sim: Sim, mpesa: Mpesa, said: str) -> None:
    await sim.control(channels={"MPESA": {"pendingAnswer": said}})
    await mpesa.collect(PATIENT, input_ThirdPartyConversationID="a" * 32)
    await mpesa.disburse(PHONE, input_ThirdPartyConversationID="b" * 32)
    assert await mpesa.status("a" * 32) == said
    is_refused = "output_ResponseTransactionStatus" not in (await mpesa.ask("a" * 32)).body
    assert is_refused == said.startswith("INS-")
    assert await mpesa.status("b" * 32) == "Completed"
