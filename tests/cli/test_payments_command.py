"""An operator's payments, at the terminal: what they see, what they are told, and what it leaves behind."""

import asyncio
import re
from typing import Any

import pytest

from malipo import clock, ids
from malipo.networks.contract import Verdict
from malipo.payments.pursuit import Act
from malipo.payments.transaction import Status, Transaction, Type
from malipo.service import Service
from malipo.trail import store as trail
from tests.conftest import Merchant
from tests.journeys import witness
from tests.journeys.terminal import Said
from tests.journeys.terminal import malipo as run
from tests.payments.story import Story

EVIDENCE = "Receipt QK12AB on the statement of 15 November"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION


class Desk:
    """Where operators sit."""

    def __init__(self, story: Story, database_url: str) -> None:
        self.story = story
        self._database_url = database_url

    async def __call__(self, *arguments: str, by: str | None = None) -> Said:
        more: dict[str, Any] = {"operator": by} if by is not None else {}
        return await run("payments", *arguments, database_url=self._database_url, **more)

    async def told(self, *arguments: str, by: str | None = None) -> str:
        """What is printed, if it is done."""
        said = await self(*arguments, by=by)
        assert (said.code, said.err) == (0, ""), said
        return said.out

    async def refused(self, *arguments: str, by: str | None = None) -> str:
        """The one sentence, if it is not."""
        said = await self(*arguments, by=by)
        assert (said.code, said.out) == (2, ""), said
        [sentence] = said.err.splitlines()
        assert sentence.startswith("malipo: ")
        return sentence.removeprefix("malipo: ")

    async def json(self, *arguments: str, by: str | None = None) -> Any:
        said = await self(*arguments, "--json", by=by)
        assert (said.code, said.err) == (0, ""), said
        return said.json

    async def audit(self) -> list[dict[str, Any]]:
        """What was done to payments, newest first, as the command says it."""
        said = await run("audit", "--json", database_url=self._database_url)
        return [deed for deed in said.json if deed["what"].startswith("payment.")]

    async def deeds(self) -> list[tuple[str, str]]:
        """What was done to payments and by whom, as the database has it."""
        async with self.story.database.read() as connection:
            found = await trail.find(connection, limit=100)
        return sorted((deed.what, deed.who) for deed in found if deed.what.startswith("payment."))


@pytest.fixture
async def desk(service: Service, merchant: Merchant, database_url: str) -> Desk:
    """With two operators, and fees."""
    story = Story(service, merchant.id)
    await story.charge_fees()
    async with service.database.begin() as tx:
        for name in ("asha", "juma"):
            now = clock.now()
            await trail.insert_operator(tx, ids.mint("opr_", now), name, now=now)
    return Desk(story, database_url)


async def _cases(story: Story) -> dict[str, Transaction]:
    """One payment of each kind that is on the list."""
    slow = await story.ago(3700).processing(PAYOUT, 250_000)
    differs = await story.processing(COLLECTION)
    await story.hear(differs, Verdict.CONFIRMED, amount=999, code="INS-0", detail="Request processed")
    paid = await story.contradicted(PAYOUT, Status.FAILED, 5000)
    unpaid = await story.contradicted(COLLECTION, Status.COMPLETED)
    return {"slow": slow, "differs": differs, "paid": paid, "unpaid": unpaid}


async def test_the_list_is_a_table_for_people_and_json_for_programs(desk: Desk) -> None:
    cases = await _cases(desk.story)
    await desk.json("resolve", cases["slow"].id, "--completed", "--evidence", EVIDENCE, by="asha")

    text, rows = await asyncio.gather(desk.told("unsettled"), desk.json("unsettled"))

    header, *lines = text.splitlines()
    names = ["payment", "reference", "type", "channel", "status", "amount", "since", "why", "proposed"]
    assert header.split() == names
    assert [line.split()[0] for line in lines] == [cases[name].id for name in ("slow", "differs", "paid", "unpaid")]
    _assert_aligned(header, lines, right="amount")
    assert "250,000" in lines[0]
    assert [row["why"] for row in rows] == [
        "takes too long",
        "the network speaks of another amount or phone",
        "contradicted: the network now says that it was paid",
        "contradicted: the network now says that it was not paid",
    ]
    assert [list(row) for row in rows] == [names] * 4
    assert [row["proposed"] for row in rows] == ["completed", None, None, None]
    slow = cases["slow"]
    assert rows[0] | {"since": "", "why": ""} == {
        "payment": slow.id,
        "reference": slow.reference,
        "type": "DISBURSEMENT",
        "channel": "MPESA",
        "status": "PROCESSING",
        "amount": 250_000,
        "since": "",
        "why": "",
        "proposed": "completed",
    }


def _assert_aligned(header: str, lines: list[str], *, right: str) -> None:
    """Every cell begins where its header does, or ends there; between two columns there is always a gap."""
    for word in re.finditer(r"\S+", header):
        for line in lines:
            if word.group() == right:
                assert line[word.end() - 1] != " "
                assert line[word.end() : word.end() + 2] == "  "
            else:
                assert line[word.start()] != " "
                assert word.start() == 0 or line[word.start() - 2 : word.start()] == "  "


async def test_a_second_operator_is_shown_the_payment_the_evidence_and_everything_that_was_heard(desk: Desk) -> None:
    payout = (await _cases(desk.story))["slow"]
    await desk.story.hear(payout, Verdict.UNKNOWN, code="INS-1", detail="Internal Error")
    say = ("resolve", payout.id, "--completed", "--evidence", EVIDENCE, "--provider-reference", "QK12AB")
    await desk.json(*say, by="asha")

    text, shown, unknown = await asyncio.gather(
        desk.told("show", payout.reference), desk.json("show", payout.id), desk.refused("show", "txn_nowhere")
    )

    facts, heard = text.split("\n\n")
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
    assert "takes too long" in facts
    header, *lines = heard.splitlines()
    assert header.split() == ["at", "network", "by", "verdict", "code", "words"]
    assert [line.split()[1:5] for line in lines] == [["mpesa", "send", "waiting"], ["mpesa", "ask", "unknown", "INS-1"]]
    assert "Internal Error" in lines[1]
    assert shown["proposal"]["evidence"] == EVIDENCE
    assert [(each["by"], each["verdict"]) for each in shown["heard"]] == [("send", "waiting"), ("ask", "unknown")]
    assert "txn_nowhere" in unknown


async def test_a_payment_that_is_on_no_list_is_shown_without_a_reason_to_be_there(desk: Desk) -> None:
    completed = await desk.story.ended(COLLECTION, Status.COMPLETED)
    young = await desk.story.processing(PAYOUT)
    texts = await asyncio.gather(desk.told("show", completed.reference), desk.told("show", young.id))
    for text in texts:
        assert "contradicted" not in text
        assert "too long" not in text


async def test_a_payout_is_proposed_by_one_operator_and_approved_by_another(desk: Desk) -> None:
    payout = await desk.story.processing(PAYOUT, 250_000)
    say = ("resolve", payout.id, "--completed", "--evidence", EVIDENCE)

    nobody, stranger = await asyncio.gather(desk.refused(*say), desk.refused(*say, by="neema"))
    assert nobody == "This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add)."
    assert stranger == "There is no operator 'neema' (MALIPO_OPERATOR). See: malipo operators add"
    assert await desk.deeds() == []

    proposed = await desk.told(*say, "--provider-reference", "QK12AB", by="asha")
    assert proposed.startswith(f"Proposed: {payout.reference}, TZS 250,000, completed. Another operator must look")
    assert f"(malipo payments show {payout.reference})" in proposed
    assert proposed.endswith(f"malipo payments approve {payout.reference}\n")
    own, again = await asyncio.gather(desk.refused("approve", payout.id, by="asha"), desk.refused(*say, by="juma"))
    assert own == "Whoever proposed it cannot approve it: it takes two operators."
    assert again == "It is already proposed as completed; approve that, or reject it."
    assert await desk.story.status(payout) is Status.PROCESSING

    done = await desk.told("approve", payout.reference, by="juma")

    assert done == f"Resolved: {payout.reference}, TZS 250,000, is COMPLETED.\n"
    assert await witness.wallet(desk.story.database, desk.story.merchant_id) == (749_970, 0)
    resolved, proposal = await desk.audit()
    assert [(deed["what"], deed["who"]) for deed in (proposal, resolved)] == [
        ("payment.resolution_proposed", "operator asha"),
        ("payment.resolved", "operator juma"),
    ]
    for deed in (resolved, proposal):
        assert deed["merchant"] == desk.story.merchant_id
        assert deed["details"] == {
            "transaction": payout.id,
            "amount": 250_000,
            "outcome": "completed",
            "evidence": EVIDENCE,
            "proposed_by": "operator asha",
        }
    await witness.assert_clean(desk.story.database)


async def test_a_proposal_is_rejected_and_a_program_is_told_in_json(desk: Desk) -> None:
    payout = await desk.story.processing(PAYOUT)

    proposed = await desk.json("resolve", payout.id, "--failed", "--evidence", EVIDENCE, by="asha")
    rejected = await desk.told("reject", payout.id, by="juma")
    twice = await desk.refused("reject", payout.id, by="juma")
    await desk.json("resolve", payout.id, "--failed", "--evidence", EVIDENCE, by="juma")
    approved = await desk.json("approve", payout.id, by="asha")

    open_ = {
        "payment": payout.id,
        "reference": payout.reference,
        "status": "PROCESSING",
        "outcome": "failed",
        "isDone": False,
        "endedAt": None,
    }
    assert proposed == open_
    assert re.fullmatch(r"Rejected: MLP-\w+, TZS 1,000, is still PROCESSING\.\n", rejected)
    assert twice == "Nobody has proposed what became of it."
    assert approved | {"endedAt": None} == open_ | {"status": "FAILED", "isDone": True}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", approved["endedAt"])
    assert await desk.told("unsettled") == "Every payment is settled, or its network has it in hand.\n"
    await witness.assert_clean(desk.story.database)


async def test_a_collection_takes_one_operator_and_a_contradiction_is_cleared(desk: Desk) -> None:
    cases = await _cases(desk.story)
    say = ("--failed", "--evidence", EVIDENCE)

    open_, contradicted = await asyncio.gather(
        desk.told("resolve", cases["differs"].id, *say, by="asha"),
        desk.told("resolve", cases["unpaid"].id, *say, by="juma"),
    )

    assert open_ == f"Resolved: {cases['differs'].reference}, TZS 1,000, is FAILED.\n"
    assert contradicted == (
        f"Resolved as failed: {cases['unpaid'].reference}, TZS 1,000. "
        "Suspense is cleared; the merchant still sees COMPLETED.\n"
    )
    assert await desk.story.status(cases["unpaid"]) is Status.COMPLETED
    assert await desk.deeds() == [
        ("payment.contradicted", "network mpesa"),
        ("payment.contradicted", "network mpesa"),
        ("payment.resolved", "operator asha"),
        ("payment.resolved", "operator juma"),
    ]
    await witness.assert_clean(desk.story.database)


async def test_whatever_cannot_be_resolved_is_one_sentence_that_says_why(desk: Desk) -> None:
    story = desk.story
    open_, ended = await story.processing(COLLECTION), await story.ended(PAYOUT, Status.COMPLETED)
    sending, pending = await story.send(COLLECTION), await story.open(PAYOUT)
    evidence = ("--evidence", EVIDENCE)

    sentences = await asyncio.gather(
        desk.refused("resolve", pending.id, "--failed", *evidence, by="asha"),
        desk.refused("resolve", sending.id, "--failed", *evidence, by="asha"),
        desk.refused("resolve", ended.reference, "--completed", *evidence, by="asha"),
        desk.refused("resolve", "txn_nowhere", "--failed", *evidence, by="asha"),
        desk.refused("resolve", open_.id, "--failed", "--evidence", "  paid    ", by="asha"),
        desk.refused("resolve", open_.id, "--failed", by="asha"),
    )

    for sentence, words in zip(
        sentences,
        (
            "It is PENDING: nothing was sent.",
            "on its way to the network right now",
            "It is COMPLETED, and nothing contradicts that.",
            "There is no payment 'txn_nowhere'",
            "in 10 to 1,000 characters",
            "--evidence",
        ),
        strict=True,
    ):
        assert words in sentence
    assert [await story.status(each) for each in (pending, sending, open_, ended)] == [
        Status.PENDING,
        Status.PROCESSING,
        Status.PROCESSING,
        Status.COMPLETED,
    ]
    assert await desk.deeds() == []


async def test_a_wallet_that_is_too_low_is_said_with_what_it_holds_and_nothing_changes(desk: Desk) -> None:
    story = desk.story
    unpaid = await story.contradicted(COLLECTION, Status.COMPLETED, 1000)
    await story.ended(PAYOUT, Status.COMPLETED, 1_000_500)  # 440 are left.
    before = await story.balances()

    sentence = await desk.refused("resolve", unpaid.id, "--failed", "--evidence", EVIDENCE, by="asha")

    assert "which is TZS 440" in sentence
    assert await story.balances() == before
    assert await desk.deeds() == [("payment.contradicted", "network mpesa")]


async def test_a_network_that_was_faster_than_the_second_operator_is_not_overruled(desk: Desk) -> None:
    payout = await desk.story.processing(PAYOUT)
    await desk.json("resolve", payout.id, "--failed", "--evidence", EVIDENCE, by="asha")
    await desk.story.hear(payout, Verdict.CONFIRMED, Act.CALLBACK)

    sentence = await desk.refused("approve", payout.reference, by="juma")

    assert sentence == "It is COMPLETED, and nothing contradicts that."
    assert await witness.wallet(desk.story.database, desk.story.merchant_id) == (998_970, 0)
    await witness.assert_clean(desk.story.database)
