"""An operator's payments, at the terminal: what they see, what is printed, and what it leaves behind."""

import asyncio
import re

from msgspec.structs import replace

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from malipo.words.cases import SENTENCES
from tests.cli.payments_commands import COLLECTION, EVIDENCE, PAYOUT, Desk, cases_of_each_kind
from tests.cli.payments_commands import desk as desk
from tests.journeys import database_facts
from tests.payments.payment_steps import a_report


async def test_the_list_is_a_table_for_people_and_json_for_programs(desk: Desk) -> None:
    cases = await cases_of_each_kind(desk.steps)
    await desk.json("resolve", cases["slow"].id, "--completed", "--evidence", EVIDENCE, by="asha")

    text, rows = await asyncio.gather(desk.output_of("unsettled"), desk.json("unsettled"))

    header, *lines = text.splitlines()
    names = ["payment", "reference", "type", "channel", "status", "amount", "owed", "since", "why", "proposed"]
    assert header.split() == names
    assert [line.split()[0] for line in lines] == [cases[name].id for name in ("slow", "differs", "paid", "unpaid")]
    _assert_aligned(header, lines, right={"amount", "owed"})
    assert "250,000" in lines[0]
    assert [row["why"] for row in rows] == [
        "It takes too long.",
        "The network speaks of another amount or phone.",
        "The network said that it was not paid, and now that it was.",
        "The network said that it was paid, and now that it was not.",
    ]
    assert [list(row) for row in rows] == [names] * 4
    assert [row["proposed"] for row in rows] == ["completed", None, None, None]
    assert [row["owed"] for row in rows] == [0, 0, 5030, 970]
    slow = cases["slow"]
    assert rows[0] | {"since": "", "why": ""} == {
        "payment": slow.id,
        "reference": slow.reference,
        "type": "DISBURSEMENT",
        "channel": "MPESA",
        "status": "PROCESSING",
        "amount": 250_000,
        "owed": 0,
        "since": "",
        "why": "",
        "proposed": "completed",
    }


def _assert_aligned(header: str, lines: list[str], *, right: set[str]) -> None:
    """Every cell begins where its header does, or ends there; between two columns there is always a gap."""
    for word in re.finditer(r"\S+", header):
        for line in lines:
            if word.group() in right:
                assert line[word.end() - 1] != " "
                assert line[word.end() : word.end() + 2] == "  "
            else:
                assert line[word.start()] != " "
                assert word.start() == 0 or line[word.start() - 2 : word.start()] == "  "


async def test_a_second_operator_is_shown_the_payment_the_evidence_and_every_answer(desk: Desk) -> None:
    payout = (await cases_of_each_kind(desk.steps))["slow"]
    await desk.steps.report(payout, Verdict.UNKNOWN, code="INS-1", detail="Internal Error")
    say = ("resolve", payout.id, "--completed", "--evidence", EVIDENCE, "--provider-reference", "QK12AB")
    await desk.json(*say, by="asha")

    text, shown, unknown = await asyncio.gather(
        desk.output_of("show", payout.reference), desk.json("show", payout.id), desk.refused("show", "txn_nowhere")
    )

    facts, received = text.split("\n\n")
    for fact in (
        payout.id,
        payout.reference,
        "TZS 250,000",
        "+255754000001",
        "completed",
        "operator asha",
        EVIDENCE,
        "QK12AB",
    ):
        assert fact in facts
    assert "It takes too long." in facts
    header, *lines = received.splitlines()
    assert header.split() == ["at", "network", "by", "verdict", "code", "words"]
    assert [line.split()[1:5] for line in lines] == [["mpesa", "send", "waiting"], ["mpesa", "ask", "unknown", "INS-1"]]
    assert "Internal Error" in lines[1]
    assert shown["proposal"]["evidence"] == EVIDENCE
    assert [(each["by"], each["verdict"]) for each in shown["heard"]] == [("send", "waiting"), ("ask", "unknown")]
    assert "txn_nowhere" in unknown


async def test_a_payment_that_is_on_no_list_is_shown_without_a_reason_to_be_there(desk: Desk) -> None:
    completed = await desk.steps.ended(COLLECTION, Status.COMPLETED)
    young = await desk.steps.processing(PAYOUT)
    texts = await asyncio.gather(desk.output_of("show", completed.reference), desk.output_of("show", young.id))
    for text in texts:
        assert "The network said" not in text
        assert "too long" not in text


async def test_a_payment_that_somebody_reported_paid_is_on_the_list_in_words(desk: Desk) -> None:
    steps = desk.steps
    said, signed = await steps.processing(PAYOUT), await steps.ended(PAYOUT, Status.FAILED)
    await steps.report(said, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    await steps.report(signed, Verdict.CONFIRMED, AnswerSource.CALLBACK)
    for _ in steps.service.settings.poll_seconds:
        await steps.report(said, Verdict.UNKNOWN)
    await steps.report(signed, Verdict.REFUSED)

    rows = {row["payment"]: row["why"] for row in await desk.json("unsettled")}

    assert rows == {
        said.id: "Somebody said that it was paid, and the network does not confirm it when asked.",
        signed.id: "The network said that it was not paid, and now that it was.",
    }


async def test_an_operator_cancels_what_a_closed_merchant_has_left(desk: Desk) -> None:
    steps = desk.steps
    sent, pending = await steps.processing(PAYOUT), await steps.open(PAYOUT, 5000)
    active = await desk.refused("cancel", pending.id, by="asha")
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", steps.merchant_id)

    rows = await desk.json("unsettled")
    nobody = await desk.refused("cancel", pending.id)
    too_late = await desk.refused("cancel", sent.id, by="asha")
    text = await desk.output_of("cancel", pending.reference, by="asha")

    assert active == "Its merchant is active, and can cancel it."
    assert nobody.startswith("Only an operator who is logged in")
    assert too_late == "Only a PENDING payment can be cancelled; this one is PROCESSING."
    closed = "Its merchant is closed, so nobody sends it. It can be cancelled."
    assert [(row["payment"], row["why"]) for row in rows] == [(pending.id, closed)]
    assert text == f"Cancelled: {pending.reference}, TZS 5,000. TZS 5,030 is back in the wallet.\n"
    assert await steps.status(pending) is Status.CANCELLED
    assert await desk.deeds() == [("payment.cancelled", "operator asha")]
    await database_facts.assert_clean(steps.database)


async def test_a_payout_on_a_channel_that_is_not_connected_is_listed_and_an_operator_may_cancel_it(desk: Desk) -> None:
    steps, desk.settings = desk.steps, {}
    await desk.worker_reports("AIRTEL_MONEY DISBURSEMENT")
    payout, collection = await steps.open(PAYOUT, 5000), await steps.open(COLLECTION)

    rows = await desk.json("unsettled")
    not_its = await desk.refused("cancel", collection.id, by="asha")
    text = await desk.output_of("cancel", payout.id, by="asha")

    why = SENTENCES["not_connected"]
    assert [(row["payment"], row["why"]) for row in rows] == [(payout.id, why)]
    assert not_its == "Its merchant is active, and can cancel it."
    assert text == f"Cancelled: {payout.reference}, TZS 5,000. TZS 5,030 is back in the wallet.\n"
    assert await desk.json("unsettled") == []
    await database_facts.assert_clean(steps.database)


async def test_a_command_without_a_network_cancels_nothing_that_a_worker_sends(desk: Desk) -> None:
    """asha's own environment lacks MALIPO_MPESA_…; the worker has it."""
    desk.settings = {}
    pending = await desk.steps.open(PAYOUT, 5000)
    await desk.worker_reports("MPESA COLLECTION", "MPESA DISBURSEMENT")
    refused = await desk.refused("cancel", pending.id, by="asha")
    assert refused == "Its merchant is active, and can cancel it."
    assert await desk.steps.status(pending) is Status.PENDING


async def test_while_no_worker_reports_its_networks_two_operators_cancel(desk: Desk) -> None:
    steps, desk.settings = desk.steps, {}
    pending = await steps.open(PAYOUT, 5000)
    proposed = await desk.output_of("cancel", pending.id, by="asha")
    assert proposed.startswith(f"Proposed: {pending.reference}, TZS 5,000, cancel. Another operator must")
    assert await steps.status(pending) is Status.PENDING
    assert "it takes two operators" in (await desk("approve", pending.id, "--here", by="asha")).err

    done = await desk.output_of("approve", pending.id, "--here", by="juma")
    assert done == f"Resolved: {pending.reference}, TZS 5,000, is CANCELLED.\n"
    assert await steps.status(pending) is Status.CANCELLED
    await database_facts.assert_clean(steps.database)


async def test_two_operators_cancel_nothing_that_a_worker_has_reported_to_send_meanwhile(desk: Desk) -> None:
    desk.settings = {}
    pending = await desk.steps.open(PAYOUT, 5000)
    await desk.output_of("cancel", pending.id, by="asha")
    await desk.worker_reports("MPESA DISBURSEMENT")
    refused = await desk.refused("approve", pending.id, "--here", by="juma")
    assert refused == "Its merchant is active, and can cancel it."
    assert await desk.steps.status(pending) is Status.PENDING


async def test_callbacks_about_payments_that_we_do_not_have_are_listed(desk: Desk) -> None:
    assert await desk.output_of("unknown-callbacks") == "Every callback was about a payment that we have.\n"
    payout = await desk.steps.processing(PAYOUT)
    for key, amount in (("NOBODYSKEY1", 7000), ("NOBODYSKEY2", None)):
        answer = {"amount": amount, "provider_reference": "QK12AB", "code": "INS-0", "detail": "Paid"}
        report = a_report(
            replace(payout, network_key=key), Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False, **answer
        )
        assert await desk.steps.service.network_work.apply_answer(report) is None

    text, rows = await asyncio.gather(desk.output_of("unknown-callbacks"), desk.json("unknown-callbacks"))

    header, *lines = text.splitlines()
    names = ["at", "network", "key", "amount", "phone", "receipt", "verdict", "signed", "code", "words"]
    assert header.split() == names
    assert [line.split()[1:4] for line in lines] == [["mpesa", "NOBODYSKEY2", "-"], ["mpesa", "NOBODYSKEY1", "7,000"]]
    assert [list(row) for row in rows] == [names, names]
    assert [(row["key"], row["amount"], row["receipt"], row["signed"]) for row in rows] == [
        ("NOBODYSKEY2", None, "QK12AB", False),
        ("NOBODYSKEY1", 7000, "QK12AB", False),
    ]
