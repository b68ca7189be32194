"""/operator: how operators settle what no network does, and what they look at."""

import asyncio
from functools import partial

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.dashboard.operator.networks import rows_of
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Channel, Verdict
from malipo.networks.name_lookup import NameLookup
from malipo.networks.routing import Networks
from malipo.payments.transaction import Status
from tests.dashboard.operator.operator_pages import COLLECTION, EVIDENCE, PAYOUT, PROPOSAL, OperatorPages, proposal_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Seen
from tests.db.lock_waits import are_waiting
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.payments.payment_steps import PaymentSteps


@pytest.mark.parametrize(
    ("outcome", "status", "left"), [("completed", Status.COMPLETED, 9000), ("failed", Status.FAILED, 10_000)]
)
async def test_two_operators_settle_a_payout(
    operator_pages: OperatorPages, outcome: str, status: Status, left: int
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    listed = await asha.surfer.get("/operator")
    assert payout.reference in listed.words
    assert "It takes too long." in listed.words

    assert (await asha.propose(payout, outcome)).status == 303
    assert await operator_pages.status(payout) is Status.PROCESSING
    seen = await juma.look(payout)
    assert EVIDENCE in seen.words
    assert asha.name in seen.words
    assert (await juma.approve(payout)).status == 303

    assert (await operator_pages.status(payout), await operator_pages.available()) == (status, left)
    assert await operator_pages.deeds() == [
        ("payment.resolution_proposed", f"operator {asha.name}", asha.address),
        ("payment.resolved", f"operator {juma.name}", juma.address),
    ]
    assert payout.reference not in (await asha.surfer.get("/operator")).words


async def test_who_looks_at_a_case_waits_for_no_commit_of_it_and_keeps_none_waiting(
    operator_pages: OperatorPages,
) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    assert (await asha.propose(payout, "completed")).status == 303
    database = operator_pages.service.queries.database
    one, chosen = f"/operator/cases/{payout.reference}", f"/operator/cases/chosen?payment={payout.reference}"

    async def waits_or_is_done(looking: asyncio.Task[Seen]) -> bool:
        return looking.done() or await are_waiting(database)

    for path in (one, chosen):
        async with database.begin() as tx:
            await tx.execute("SELECT FROM transactions WHERE id = $1 FOR UPDATE", payout.id)
            await tx.execute("SELECT FROM proposals WHERE subject = $1 FOR UPDATE", payout.id)
            looking = asyncio.create_task(asha.surfer.get(path))
            await until(partial(waits_or_is_done, looking), pause=0.01, what="the page")
            assert looking.done(), path
        assert EVIDENCE in (await looking).words


async def test_one_operator_alone_cannot_settle_a_payout(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    seen = await asha.look(payout)
    assert f"/operator/cases/{payout.reference}/approve" not in seen.text
    refused = await asha.decide("approve", payout, proposal_on(seen))
    assert refused.status == 403
    assert "it takes two operators" in refused.words
    assert (await operator_pages.status(payout), await operator_pages.available()) == (Status.PROCESSING, 9000)


async def test_a_collection_is_settled_by_one(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    collection = await operator_pages.late(COLLECTION)
    assert (await asha.propose(collection, "completed", providerReference="QK12AB")).status == 303
    assert (await operator_pages.status(collection), await operator_pages.available()) == (Status.COMPLETED, 11_000)
    seen = await asha.look(collection)
    assert "QK12AB" in seen.words
    assert "It is settled." in seen.words


@pytest.mark.parametrize("is_own", [True, False])
async def test_a_rejected_proposal_changes_nothing(operator_pages: OperatorPages, *, is_own: bool) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    who = asha if is_own else juma
    assert (await who.decide("reject", payout, proposal_on(await who.look(payout)))).status == 303
    assert await operator_pages.status(payout) is Status.PROCESSING
    assert (await operator_pages.deeds())[-1] == ("payment.resolution_rejected", f"operator {who.name}", who.address)
    assert PROPOSAL.search((await juma.look(payout)).text) is None


async def test_what_was_proposed_since_is_not_approved_by_an_older_page(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    await asha.propose(payout, "completed")
    seen_by_juma = proposal_on(await juma.look(payout))
    await asha.decide("reject", payout, seen_by_juma)
    await asha.propose(payout, "failed")

    for act in ("approve", "reject"):
        refused = await juma.decide(act, payout, seen_by_juma)
        assert refused.status == 409
        assert "It has changed since you looked." in refused.words
    assert await operator_pages.status(payout) is Status.PROCESSING
    assert (await juma.approve(payout)).status == 303, "what stands there now"
    assert await operator_pages.status(payout) is Status.FAILED


async def test_a_proposal_about_a_payment_that_its_network_has_ended_since_is_worth_nothing(
    operator_pages: OperatorPages,
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    proposal = proposal_on(await juma.look(payout))
    await PaymentSteps(operator_pages.service, operator_pages.merchant.id).report(payout, Verdict.CONFIRMED)
    refused = await juma.decide("approve", payout, proposal)
    assert refused.status == 409
    assert "It is COMPLETED, and nothing contradicts that." in refused.words
    assert "That no longer counts." in refused.words
    assert (await operator_pages.status(payout), await operator_pages.available()) == (Status.COMPLETED, 9000)


async def test_a_finding_about_an_open_payment_says_nothing_of_one_that_has_ended(
    operator_pages: OperatorPages,
) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    await asha.look(payout)
    await PaymentSteps(operator_pages.service, operator_pages.merchant.id).report(payout, Verdict.CONFIRMED)
    assert (await asha.propose(payout, "failed")).status == 409
    assert await operator_pages.deeds() == []


async def test_of_two_approvals_at_once_one_counts(operator_pages: OperatorPages) -> None:
    asha, *others = [await operator_pages.operator(name) for name in ("asha", "juma", "neema")]
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    proposals = [proposal_on(await each.look(payout)) for each in others]
    answers = await asyncio.gather(
        *(each.decide("approve", payout, proposal) for each, proposal in zip(others, proposals, strict=True))
    )
    assert sorted(each.status for each in answers) == [303, 409]
    assert (await operator_pages.status(payout), await operator_pages.available()) == (Status.FAILED, 10_000)
    assert [what for what, _, _ in await operator_pages.deeds()] == ["payment.resolution_proposed", "payment.resolved"]


async def test_a_finding_takes_an_outcome_and_evidence_and_keeps_what_was_typed(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    seen = await asha.propose(payout, "", evidence="too <i>thin")
    assert seen.status == 400
    assert seen.text.count('class="wrong"') == 1
    assert "Say what became of the money." in seen.words
    assert "too &lt;i&gt;thin" in seen.text
    seen = await asha.propose(payout, "completed", evidence="  short \n ", providerReference="x" * 101)
    assert seen.text.count('class="wrong"') == 2
    assert (await asha.propose(payout, "completed", evidence="two\r\nlines of it")).status == 303
    assert "two lines of it" in (await asha.look(payout)).words


async def test_every_value_is_escaped(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed", evidence="<script>alert(1)</script>")
    for seen in (await asha.look(payout), await asha.surfer.get("/operator")):
        assert "Duka <b>" not in seen.text
        assert "Duka &lt;b&gt;la" in seen.text
        assert "<script>" not in seen.text


async def test_a_payment_is_looked_up_by_reference_and_what_is_none_is_not_found(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    made = (
        await operator_pages.service.payments.initiate(order(operator_pages.merchant.id, COLLECTION, 1000))
    ).transaction
    sent_to = (await asha.surfer.get(f"/operator/cases?payment=%20{made.reference}")).to
    seen = await asha.surfer.get(sent_to)
    assert (seen.status, "nothing was sent" in seen.words) == (200, True)
    assert "/propose" not in seen.text
    for path in ("?payment=../x", "/txn_nothing", "/%00", "/" + "x" * 65):
        assert (await asha.surfer.get(f"/operator/cases{path}")).status == 404
    assert (await asha.surfer.get("/operator/cases?payment=%20")).to == "/operator"


async def test_the_book_is_checked_on_demand_and_that_is_noted(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    wrong = "UPDATE wallets SET available = available + $2 WHERE merchant_id = $1"
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute(wrong, operator_pages.merchant.id, 7)
    try:
        seen = await asha.surfer.post("/operator/ledger")
    finally:
        async with operator_pages.service.queries.database.begin() as tx:
            await tx.execute(wrong, operator_pages.merchant.id, -7)
    assert seen.status == 200
    assert f"{operator_pages.merchant.id} wallet 10,007 10,000" in seen.words
    assert operator_pages.merchant.id not in (await asha.surfer.post("/operator/ledger")).words
    async with operator_pages.service.queries.database.read() as connection:
        deeds = await audit_log.find(connection, limit=20)
    mine = [each for each in deeds if each.actor == f"operator {asha.name}" and each.action == "ledger.checked"]
    assert [each.details["findings"] > 0 for each in mine][-1]
    assert len(mine) == 2


async def test_the_page_shows_what_the_workers_last_check_has_found(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("DELETE FROM ledger_checks")  # of tests before this one
    assert "Last check by a worker" not in (await asha.surfer.get("/operator/ledger")).words
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO ledger_checks (id, finished_at, finding_count, findings)
            VALUES ('chk_1', now(), 1, '[{"what": "wallet", "where": "mer_wrong", "stored": 1, "computed": 2}]')
            """
        )
    try:
        seen = await asha.surfer.get("/operator/ledger")
    finally:
        async with operator_pages.service.queries.database.begin() as tx:
            await tx.execute("DELETE FROM ledger_checks")
    assert "The book is not clean: 1 finding." in seen.words
    assert "mer_wrong wallet" in seen.words


async def test_a_network_that_is_down_takes_down_what_it_carries_and_nothing_else(
    operator_pages: OperatorPages,
) -> None:
    down = Outage(clock.now(), "timeout", 3, is_due=False)
    networks = Networks(
        connectors={},
        routes={(Channel.MPESA, PAYOUT): "mpesa", (Channel.HALOPESA, PAYOUT): "clickpesa"},
        callback_access={},
        reach={},
        names=NameLookup({}, {}, timeout_seconds=1),
    )
    rows = {(each.channel, each.type): each for each in rows_of(networks, {"clickpesa": down})}
    assert len(rows) == 8
    assert [key for key, each in rows.items() if each.trouble] == [(Channel.HALOPESA, PAYOUT)]
    assert [key for key, each in rows.items() if each.carrier] == [(Channel.MPESA, PAYOUT), (Channel.HALOPESA, PAYOUT)]
    asha = await operator_pages.operator("asha")
    assert (await asha.surfer.get("/operator/networks")).words.count("Not connected") == 8
