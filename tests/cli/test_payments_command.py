"""An operator's payments, at the terminal: what they see, what they are told, and what it leaves behind."""

import asyncio
import re
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.cli.cases import WHY
from malipo.networks.contract import Verdict
from malipo.payments.pursuit import Act, Attention
from malipo.payments.transaction import Status, Transaction, Type
from malipo.service import Service
from malipo.trail import store as trail
from tests.conftest import Merchant
from tests.journeys import witness
from tests.journeys.terminal import Said
from tests.journeys.terminal import malipo as run
from tests.payments.story import Story, a_report

EVIDENCE = "Receipt QK12AB on the statement of 15 November"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION


class Desk:
    """Where operators sit."""

    def __init__(self, story: Story, database_url: str) -> None:
        self.story = story
        self._database_url = database_url
        self.settings: dict[str, Any] = {}

    async def __call__(self, *arguments: str, by: str | None = None) -> Said:
        more = self.settings | ({"operator": by} if by is not None else {})
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
    names = ["payment", "reference", "type", "channel", "status", "amount", "owed", "since", "why", "proposed"]
    assert header.split() == names
    assert [line.split()[0] for line in lines] == [cases[name].id for name in ("slow", "differs", "paid", "unpaid")]
    _assert_aligned(header, lines, right={"amount", "owed"})
    assert "250,000" in lines[0]
    assert [row["why"] for row in rows] == [
        "takes too long",
        "the network speaks of another amount or phone",
        "contradicted: the network now says that it was paid",
        "contradicted: the network now says that it was not paid",
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

    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    proposed = await desk.json(*say, by="asha")
    rejected = await desk.told("reject", payout.id, by="juma")
    twice = await desk.refused("reject", payout.id, by="juma")
    await desk.json(*say, by="juma")
    approved = await desk.json("approve", payout.id, by="asha")

    open_ = {
        "payment": payout.id,
        "reference": payout.reference,
        "status": "PROCESSING",
        "outcome": "failed",
        "isDone": False,
        "credited": 0,
        "borne": 0,
        "owed": 0,
        "endedAt": None,
    }
    assert proposed == open_
    assert re.fullmatch(r"Rejected: MLP-\w+, TZS 1,000, is still PROCESSING\.\n", rejected)
    assert twice == "Nobody has proposed what became of it."
    assert approved | {"endedAt": None} == open_ | {"status": "FAILED", "isDone": True}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", approved["endedAt"])
    assert await desk.told("unsettled") == "Every payment is settled, or its network has it in hand.\n"
    await witness.assert_clean(desk.story.database)


async def test_an_open_collection_takes_one_operator(desk: Desk) -> None:
    waiting = await desk.story.processing(COLLECTION)

    done = await desk.told("resolve", waiting.id, "--failed", "--evidence", EVIDENCE, by="asha")

    assert done == f"Resolved: {waiting.reference}, TZS 1,000, is FAILED.\n"
    assert await desk.deeds() == [("payment.resolved", "operator asha")]
    await witness.assert_clean(desk.story.database)


# What was told, what the network says now, how two operators resolve it, and what they are told.
RESOLVED = [
    (
        PAYOUT,
        Status.FAILED,
        ("--completed",),
        "Resolved as completed: {reference}, TZS 1,000. TZS 1,030 taken from the wallet. The merchant still sees FAILED.",
        (-1030, 0, 0),
    ),
    (
        PAYOUT,
        Status.FAILED,
        ("--completed", "--waive"),
        "Resolved as completed: {reference}, TZS 1,000. The house bears TZS 1,030. The merchant still sees FAILED.",
        (0, -1030, 0),
    ),
    (
        PAYOUT,
        Status.COMPLETED,
        ("--failed",),
        "Resolved as failed: {reference}, TZS 1,000. TZS 1,030 added to the wallet. The merchant still sees COMPLETED.",
        (1030, 0, 0),
    ),
    (
        PAYOUT,
        Status.COMPLETED,
        ("--completed",),
        "Resolved as completed: {reference}, TZS 1,000. The house keeps TZS 1,030.",
        (0, 1030, 0),
    ),
    (
        COLLECTION,
        Status.COMPLETED,
        ("--failed",),
        "Resolved as failed: {reference}, TZS 1,000. TZS 970 taken from the wallet. The merchant still sees COMPLETED.",
        (-970, 0, 0),
    ),
    (
        COLLECTION,
        Status.COMPLETED,
        ("--completed",),
        "Resolved as completed: {reference}, TZS 1,000. The house bears TZS 970.",
        (0, -970, 0),
    ),
]


@pytest.mark.parametrize(("type_", "status", "say", "words", "effect"), RESOLVED)
async def test_a_contradiction_takes_two_who_are_told_what_it_did_to_the_wallet(
    desk: Desk, type_: Type, status: Status, say: tuple[str, ...], words: str, effect: tuple[int, int, int]
) -> None:
    contradicted = await desk.story.contradicted(type_, status)
    before = (await witness.wallet(desk.story.database, desk.story.merchant_id))[0]
    evidence = ("--evidence", EVIDENCE)

    proposed = await desk.json("resolve", contradicted.id, *say, *evidence, by="asha")
    assert proposed["isDone"] is False
    text = await desk.told("approve", contradicted.reference, by="juma")
    shown = await desk.json("show", contradicted.id)

    assert text == words.format(reference=contradicted.reference) + "\n"
    assert tuple(shown["correction"][name] for name in ("credited", "borne", "owed")) == effect
    after = (await witness.wallet(desk.story.database, desk.story.merchant_id))[0]
    assert after - before == effect[0]
    assert await desk.story.status(contradicted) is status
    await witness.assert_clean(desk.story.database)


async def test_a_debt_is_taken_in_parts_and_the_rest_is_waived(desk: Desk) -> None:
    story = desk.story
    paid = await story.ended(PAYOUT, Status.FAILED, 998_970)
    await story.ended(PAYOUT, Status.COMPLETED, 999_570)  # What came back is spent: 400 are left.
    await story.hear(paid, Verdict.CONFIRMED)
    evidence = ("--evidence", EVIDENCE)

    await desk.json("resolve", paid.id, "--completed", *evidence, by="asha")
    part = await desk.told("approve", paid.id, by="juma")
    nothing = await _both(desk, paid, "--completed")
    show = await desk.told("show", paid.id)
    await desk.json("resolve", paid.id, "--completed", "--waive", *evidence, by="asha")
    waiving = await desk.told("show", paid.id)
    rest = await desk.told("approve", paid.id, by="juma")

    assert "TZS 400 taken from the wallet; TZS 998,600 is still owed." in part
    assert nothing == "The wallet holds TZS 0, so nothing can be taken from it now. Try again when there is more."
    assert re.search(r"^last said: +that it was paid, by the network$", show, re.MULTILINE)
    assert re.search(r"^corrected: +TZS 400 taken from the wallet$", show, re.MULTILINE)
    assert re.search(r"^owed: +TZS 998,600, held in the wallet until operators decide$", show, re.MULTILINE)
    assert re.search(r"^waived: +what is still owed is not taken: the house bears it$", waiving, re.MULTILINE)
    assert "The house bears TZS 998,600. " in rest
    assert await desk.told("unsettled") == "Every payment is settled, or its network has it in hand.\n"
    await witness.assert_clean(story.database)


async def _both(desk: Desk, payment: Transaction, truth: str) -> str:
    """What the second operator is refused. The proposal is taken back."""
    await desk.json("resolve", payment.id, truth, "--evidence", EVIDENCE, by="asha")
    refused = await desk.refused("approve", payment.id, by="juma")
    await desk.json("reject", payment.id, by="asha")
    return refused


async def test_a_payout_that_its_network_has_is_failed_only_despite_waiting_and_the_second_is_shown_that(
    desk: Desk,
) -> None:
    payout = await desk.story.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE)

    refused = await desk.refused(*say, by="asha")
    assert refused.startswith("Its network has it and has not decided, so it may still be paid.")
    assert "--despite-waiting" in refused
    await desk.json(*say, "--despite-waiting", by="asha")
    text, shown = await asyncio.gather(desk.told("show", payout.id), desk.json("show", payout.id))
    await desk.told("approve", payout.id, by="juma")

    assert re.search(r"^careful: +failed, although the network has it and has not decided", text, re.MULTILINE)
    assert shown["proposal"]["despite waiting"] is True
    assert await desk.story.status(payout) is Status.FAILED
    assert [deed["details"]["despite_waiting"] for deed in await desk.audit()] == [True, True]


async def test_after_an_operators_word_the_network_is_asked_when_the_setting_says(desk: Desk) -> None:
    payout = await desk.story.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    await desk.json(*say, by="asha")
    desk.settings["follow_up_seconds"] = "7200,86400"

    await desk.told("approve", payout.id, by="juma")

    assert 7100 < await desk.story.due_in_seconds(payout) <= 7200


async def test_what_somebody_said_was_paid_is_on_the_list_in_words(desk: Desk) -> None:
    story = desk.story
    said, signed = await story.processing(PAYOUT), await story.ended(PAYOUT, Status.FAILED)
    await story.hear(said, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    await story.hear(signed, Verdict.CONFIRMED, Act.CALLBACK)
    for _ in story.service.settings.poll_seconds:
        await story.hear(said, Verdict.UNKNOWN)
    await story.hear(signed, Verdict.REFUSED)

    rows = {row["payment"]: row["why"] for row in await desk.json("unsettled")}

    assert rows == {
        said.id: "said to be paid, and no query confirms it",
        signed.id: "contradicted: the network now says that it was paid",
    }


def test_every_reason_has_words() -> None:
    others = {"now_unpaid", "now_paid", "closed_merchant", "doubted", "late"}
    assert set(WHY) == {each.value for each in Attention} | others


async def test_an_operator_cancels_what_a_closed_merchant_has_left(desk: Desk) -> None:
    story = desk.story
    sent, pending = await story.processing(PAYOUT), await story.open(PAYOUT, 5000)
    active = await desk.refused("cancel", pending.id, by="asha")
    async with story.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", story.merchant_id)

    rows = await desk.json("unsettled")
    nobody = await desk.refused("cancel", pending.id)
    too_late = await desk.refused("cancel", sent.id, by="asha")
    text = await desk.told("cancel", pending.reference, by="asha")

    assert active == "Its merchant is active, and can cancel it."
    assert nobody.startswith("This takes an operator")
    assert too_late == "Only a PENDING payment can be cancelled; this one is PROCESSING."
    closed = "its merchant is closed, so nobody sends it: it can be cancelled"
    assert [(row["payment"], row["why"]) for row in rows] == [(pending.id, closed)]
    assert text == f"Cancelled: {pending.reference}, TZS 5,000. TZS 5,030 is back in the wallet.\n"
    assert await story.status(pending) is Status.CANCELLED
    assert await desk.deeds() == [("payment.cancelled", "operator asha")]
    await witness.assert_clean(story.database)


async def test_callbacks_about_payments_that_we_do_not_have_are_listed(desk: Desk) -> None:
    assert await desk.told("unknown-callbacks") == "Every callback was about a payment that we have.\n"
    payout = await desk.story.processing(PAYOUT)
    for key, amount in (("NOBODYSKEY1", 7000), ("NOBODYSKEY2", None)):
        answer = {"amount": amount, "provider_reference": "QK12AB", "code": "INS-0", "detail": "Paid"}
        report = a_report(replace(payout, network_key=key), Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False, **answer)
        assert await desk.story.service.settle(report) is None

    text, rows = await asyncio.gather(desk.told("unknown-callbacks"), desk.json("unknown-callbacks"))

    header, *lines = text.splitlines()
    names = ["at", "network", "key", "amount", "phone", "receipt", "verdict", "signed", "code", "words"]
    assert header.split() == names
    assert [line.split()[1:4] for line in lines] == [["mpesa", "NOBODYSKEY2", "-"], ["mpesa", "NOBODYSKEY1", "7,000"]]
    assert [list(row) for row in rows] == [names, names]
    assert [(row["key"], row["amount"], row["receipt"], row["signed"]) for row in rows] == [
        ("NOBODYSKEY2", None, "QK12AB", False),
        ("NOBODYSKEY1", 7000, "QK12AB", False),
    ]


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


async def test_a_network_that_was_faster_than_the_second_operator_is_not_overruled(desk: Desk) -> None:
    payout = await desk.story.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    await desk.json(*say, by="asha")
    await desk.story.hear(payout, Verdict.CONFIRMED, Act.CALLBACK)

    sentence = await desk.refused("approve", payout.reference, by="juma")

    assert sentence == "It is COMPLETED, and nothing contradicts that."
    assert await witness.wallet(desk.story.database, desk.story.merchant_id) == (998_970, 0)
    await witness.assert_clean(desk.story.database)
