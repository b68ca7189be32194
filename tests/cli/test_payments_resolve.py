"""An operator resolves payments at the terminal: proposed, approved, rejected, and what it did to the wallet."""

import asyncio
import re
from typing import Any

import pytest

from malipo.cli.cases import sentence_of
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolutionResult, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Type
from tests.cli.payments_commands import COLLECTION, EVIDENCE, PAYOUT, Desk, resolve_by_both
from tests.cli.payments_commands import desk as desk
from tests.journeys import database_facts
from tests.payments.test_transaction import a_transaction


async def test_a_payout_is_proposed_by_one_operator_and_approved_by_another(desk: Desk) -> None:
    payout = await desk.steps.processing(PAYOUT, 250_000)
    say = ("resolve", payout.id, "--completed", "--evidence", EVIDENCE)

    assert await desk.refused(*say) == "Only an operator who is logged in can do this: malipo operators login"
    assert await desk.deeds() == []

    proposed = await desk.output_of(*say, "--provider-reference", "QK12AB", by="asha")
    assert proposed.startswith(f"Proposed: {payout.reference}, TZS 250,000, completed. Another operator must look")
    assert f"(malipo payments show {payout.reference})" in proposed
    assert proposed.endswith(f" and approve it, at /operator/cases/{payout.reference}\n")
    assert f"/operator/cases/{payout.id}. " in await desk.refused("approve", payout.id, by="juma")
    own, again = await asyncio.gather(
        desk.refused("approve", payout.id, "--here", by="asha"), desk.refused(*say, by="juma")
    )
    assert own == "The operator who proposed it cannot approve it: it takes two operators."
    assert again == "It is already proposed as completed; approve that, or reject it."
    assert await desk.steps.status(payout) is Status.PROCESSING

    done = await desk.output_of("approve", payout.reference, "--here", by="juma")

    assert done == f"Resolved: {payout.reference}, TZS 250,000, is COMPLETED.\n"
    assert await database_facts.wallet(desk.steps.database, desk.steps.merchant_id) == (749_970, 0)
    resolved, proposal = await desk.audit()
    assert [(deed["what"], deed["who"]) for deed in (proposal, resolved)] == [
        ("payment.resolution_proposed", "operator asha"),
        ("payment.resolved", "operator juma"),
    ]
    for deed in (resolved, proposal):
        assert deed["merchant"] == desk.steps.merchant_id
        assert deed["details"] == {
            "transaction": payout.id,
            "amount": 250_000,
            "outcome": "completed",
            "evidence": EVIDENCE,
            "proposed_by": "operator asha",
        }
    await database_facts.assert_clean(desk.steps.database)


async def test_a_rejected_proposal_is_printed_as_json(desk: Desk) -> None:
    payout = await desk.steps.processing(PAYOUT)

    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    proposed = await desk.json(*say, by="asha")
    rejected = await desk.output_of("reject", payout.id, by="juma")
    twice = await desk.refused("reject", payout.id, by="juma")
    await desk.json(*say, by="juma")
    approved = await desk.json("approve", payout.id, "--here", by="asha")

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
    assert twice == "No outcome is proposed."
    assert approved | {"endedAt": None} == open_ | {"status": "FAILED", "isDone": True}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", approved["endedAt"])
    assert await desk.output_of("unsettled") == "Every payment is settled, or its network has it in hand.\n"
    await database_facts.assert_clean(desk.steps.database)


async def test_an_open_collection_takes_one_operator(desk: Desk) -> None:
    waiting = await desk.steps.processing(COLLECTION)

    done = await desk.output_of("resolve", waiting.id, "--failed", "--evidence", EVIDENCE, by="asha")

    assert done == f"Resolved: {waiting.reference}, TZS 1,000, is FAILED.\n"
    assert await desk.deeds() == [("payment.resolved", "operator asha")]
    await database_facts.assert_clean(desk.steps.database)


# What was reported, how two operators resolve it after the network has said the opposite, what that moves (to the wallet, by
# the house), and what is printed. What each decision moves is in the grid of `tests/payments/test_correction_moves.py`.
COMPLETED, FAILED = ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED
RESOLVED = [
    (PAYOUT, Status.FAILED, COMPLETED, -1030, 0, "TZS 1,030 taken from the wallet. The merchant still sees FAILED."),
    (PAYOUT, Status.FAILED, COMPLETED, 0, -1030, "TZS 1,030 is written off. The merchant still sees FAILED."),
    (PAYOUT, Status.COMPLETED, FAILED, 1030, 0, "TZS 1,030 added to the wallet. The merchant still sees COMPLETED."),
    (PAYOUT, Status.COMPLETED, COMPLETED, 0, 1030, "The house keeps TZS 1,030."),
    (
        COLLECTION,
        Status.COMPLETED,
        FAILED,
        -970,
        0,
        "TZS 970 taken from the wallet. The merchant still sees COMPLETED.",
    ),
    (COLLECTION, Status.COMPLETED, COMPLETED, 0, -970, "TZS 970 is written off."),
]


@pytest.mark.parametrize(("type_", "status", "outcome", "credited", "borne", "words"), RESOLVED)
def test_a_resolution_prints_its_effect_on_the_wallet_for_both_operators(
    type_: Type, status: Status, outcome: ResolvedOutcome, credited: int, borne: int, words: str
) -> None:
    resolved = ResolutionResult(
        a_transaction(type_, status, 30), outcome, True, is_of_contradiction=True, credited=credited, borne=borne
    )
    assert sentence_of(resolved) == f"Resolved as {outcome}: MLP-1, TZS 1,000. {words}"


@pytest.mark.parametrize(
    ("status", "say", "row"),
    [
        (Status.FAILED, ("--completed", "--waive"), RESOLVED[1]),
        (Status.COMPLETED, ("--failed",), RESOLVED[2]),
    ],
)
async def test_a_contradiction_takes_two_operators_and_prints_its_effect_on_the_wallet(
    desk: Desk, status: Status, say: tuple[str, ...], row: tuple[Any, ...]
) -> None:
    _, _, outcome, credited, borne, words = row
    contradicted = await desk.steps.contradicted(PAYOUT, status)
    before = (await database_facts.wallet(desk.steps.database, desk.steps.merchant_id))[0]
    evidence = ("--evidence", EVIDENCE)

    proposed = await desk.json("resolve", contradicted.id, *say, *evidence, by="asha")
    assert proposed["isDone"] is False
    text = await desk.output_of("approve", contradicted.reference, "--here", by="juma")
    shown = await desk.json("show", contradicted.id)

    assert text == f"Resolved as {outcome}: {contradicted.reference}, TZS 1,000. {words}\n"
    assert tuple(shown["correction"][name] for name in ("credited", "borne", "owed")) == (credited, borne, 0)
    after = (await database_facts.wallet(desk.steps.database, desk.steps.merchant_id))[0]
    assert after - before == credited
    assert await desk.steps.status(contradicted) is status
    await database_facts.assert_clean(desk.steps.database)


async def test_a_debt_is_taken_in_parts_and_the_rest_is_waived(desk: Desk) -> None:
    steps = desk.steps
    paid = await steps.ended(PAYOUT, Status.FAILED, 998_970)
    await steps.ended(PAYOUT, Status.COMPLETED, 999_570)  # What came back is spent: 400 are left.
    await steps.report(paid, Verdict.CONFIRMED)
    evidence = ("--evidence", EVIDENCE)

    await desk.json("resolve", paid.id, "--completed", *evidence, by="asha")
    part = await desk.output_of("approve", paid.id, "--here", by="juma")
    nothing = await resolve_by_both(desk, paid, "--completed")
    show = await desk.output_of("show", paid.id)
    await desk.json("resolve", paid.id, "--completed", "--waive", *evidence, by="asha")
    waiving = await desk.output_of("show", paid.id)
    rest = await desk.output_of("approve", paid.id, "--here", by="juma")

    assert "TZS 400 taken from the wallet; TZS 998,600 is still owed." in part
    assert nothing == "The wallet holds TZS 0, so nothing can be collected from it now. Try again when it holds more."
    assert re.search(r"^last said: +that it was paid, by the network$", show, re.MULTILINE)
    assert re.search(r"^corrected: +TZS 400 taken from the wallet$", show, re.MULTILINE)
    assert re.search(r"^owed: +TZS 998,600, not to be spent until operators decide$", show, re.MULTILINE)
    assert re.search(r"^waived: +what is still owed is not taken: it is written off$", waiving, re.MULTILINE)
    assert "TZS 998,600 is written off. " in rest
    assert await desk.output_of("unsettled") == "Every payment is settled, or its network has it in hand.\n"
    await database_facts.assert_clean(steps.database)


async def test_a_payout_that_its_network_has_is_failed_only_despite_waiting_and_the_second_is_shown_that(
    desk: Desk,
) -> None:
    payout = await desk.steps.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE)

    refused = await desk.refused(*say, by="asha")
    assert refused.startswith("Its network has it and has not decided, so it may still be paid.")
    assert "--despite-waiting" in refused
    await desk.json(*say, "--despite-waiting", by="asha")
    text, shown = await asyncio.gather(desk.output_of("show", payout.id), desk.json("show", payout.id))
    await desk.output_of("approve", payout.id, "--here", by="juma")

    assert re.search(r"^careful: +failed, although the network has it and has not decided", text, re.MULTILINE)
    assert shown["proposal"]["despite waiting"] is True
    assert await desk.steps.status(payout) is Status.FAILED
    assert [deed["details"]["despite_waiting"] for deed in await desk.audit()] == [True, True]


async def test_after_an_operators_word_the_network_is_asked_when_the_setting_says(desk: Desk) -> None:
    payout = await desk.steps.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    await desk.json(*say, by="asha")
    desk.settings["follow_up_seconds"] = "7200,86400"

    await desk.output_of("approve", payout.id, "--here", by="juma")

    assert 7100 < await desk.steps.due_in_seconds(payout) <= 7200


async def test_whatever_cannot_be_resolved_is_one_sentence_that_says_why(desk: Desk) -> None:
    steps = desk.steps
    open_, ended = await steps.processing(COLLECTION), await steps.ended(PAYOUT, Status.COMPLETED)
    sending, pending = await steps.send(COLLECTION), await steps.open(PAYOUT)
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
            "being sent to its network right now",
            "It is COMPLETED, and nothing contradicts that.",
            "There is no payment 'txn_nowhere'",
            "in 10 to 1,000 characters",
            "--evidence",
        ),
        strict=True,
    ):
        assert words in sentence
    assert [await steps.status(each) for each in (pending, sending, open_, ended)] == [
        Status.PENDING,
        Status.PROCESSING,
        Status.PROCESSING,
        Status.COMPLETED,
    ]
    assert await desk.deeds() == []


async def test_a_network_that_was_faster_than_the_second_operator_is_not_overruled(desk: Desk) -> None:
    payout = await desk.steps.processing(PAYOUT)
    say = ("resolve", payout.id, "--failed", "--evidence", EVIDENCE, "--despite-waiting")
    await desk.json(*say, by="asha")
    await desk.steps.report(payout, Verdict.CONFIRMED, AnswerSource.CALLBACK)

    sentence = await desk.refused("approve", payout.reference, "--here", by="juma")

    assert sentence == "It is COMPLETED, and nothing contradicts that."
    assert await database_facts.wallet(desk.steps.database, desk.steps.merchant_id) == (998_970, 0)
    await database_facts.assert_clean(desk.steps.database)
