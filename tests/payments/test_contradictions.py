"""A network takes back its word: what the merchant saw stays, the money waits in suspense, an operator clears it up."""

import itertools
from contextlib import suppress

import pytest

from malipo import clock
from malipo.db import Database
from malipo.ledger import audit
from malipo.ledger.audit import Finding
from malipo.ledger.entry import Account, Move, Posting, Step
from malipo.ledger.statement import Filter, Line
from malipo.ledger.store import statement
from malipo.networks.contract import Verdict
from malipo.payments import audit as payments_audit
from malipo.payments import resolve
from malipo.payments.effects import CONTRADICTIONS, RESOLUTIONS, contradiction_of, posting_of, resolution_of
from malipo.payments.pursuit import Act, Rules
from malipo.payments.resolve import Truth
from malipo.payments.settle import Settle
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.service import Service
from malipo.trail.store import Actor
from tests.conftest import Merchant
from tests.journeys import witness
from tests.payments.story import Story, a_report
from tests.payments.test_transaction import a_transaction

ASHA, JUMA = Actor("operator asha", "till"), Actor("operator juma", "till")
RULES = Rules(poll_seconds=(10,), not_found_seconds=300)
EVIDENCE = "Receipt QK12AB on the network's statement"

# A payment of 1000 with a fee of 30, what the merchant saw, and what the network then says of it.
CONTRADICTED = """
    COLLECTION    FAILED     paid      float MPESA > suspense 1000
    COLLECTION    CANCELLED  paid      float MPESA > suspense 1000
    COLLECTION    COMPLETED  not-paid  suspense > float MPESA 1000
    DISBURSEMENT  FAILED     paid      suspense > float MPESA 1000
    DISBURSEMENT  CANCELLED  paid      suspense > float MPESA 1000
    DISBURSEMENT  COMPLETED  not-paid  float MPESA > suspense 1000
"""
# And what an operator then finds to be true.
RESOLVED = """
    COLLECTION    FAILED     paid      suspense > wallet 970, suspense > fees 30
    COLLECTION    FAILED     not-paid  suspense > float MPESA 1000
    COLLECTION    CANCELLED  paid      suspense > wallet 970, suspense > fees 30
    COLLECTION    CANCELLED  not-paid  suspense > float MPESA 1000
    COLLECTION    COMPLETED  paid      float MPESA > suspense 1000
    COLLECTION    COMPLETED  not-paid  wallet > suspense 970, fees > suspense 30
    DISBURSEMENT  FAILED     paid      wallet > suspense 1030, suspense > fees 30
    DISBURSEMENT  FAILED     not-paid  float MPESA > suspense 1000
    DISBURSEMENT  CANCELLED  paid      wallet > suspense 1030, suspense > fees 30
    DISBURSEMENT  CANCELLED  not-paid  float MPESA > suspense 1000
    DISBURSEMENT  COMPLETED  paid      suspense > float MPESA 1000
    DISBURSEMENT  COMPLETED  not-paid  suspense > wallet 1030, fees > suspense 30
"""
CAUSES = {"paid": Cause.CONFIRMED, "not-paid": Cause.REFUSED}
TRUTHS = {"paid": Truth.COMPLETED, "not-paid": Truth.FAILED}
CONTRADICTED_ROWS = [line.split(maxsplit=3) for line in CONTRADICTED.strip().splitlines()]
RESOLVED_ROWS = [line.split(maxsplit=3) for line in RESOLVED.strip().splitlines()]
FINAL = [status for status in Status if status.is_final]


def in_words(posting: Posting) -> str:
    def account(name: Account, move: Move) -> str:
        return f"float {move.channel}" if name is Account.FLOAT else str(name)

    return ", ".join(
        f"{account(move.source, move)} > {account(move.target, move)} {move.amount}" for move in posting.moves
    )


def without_fees(moves: str) -> str:
    """The same moves of a payment that costs nothing."""
    return ", ".join(
        move.replace("970", "1000").replace("1030", "1000") for move in moves.split(", ") if "fees" not in move
    )


@pytest.mark.parametrize(("type_", "status", "_says", "moves"), CONTRADICTED_ROWS)
def test_a_contradiction_moves_what_the_grid_says(type_: str, status: str, _says: str, moves: str) -> None:
    for fee, expected in ((30, moves), (0, without_fees(moves))):
        posting = contradiction_of(a_transaction(Type(type_), Status(status), fee))
        assert (posting.step, in_words(posting)) == (Step.CONTRADICTION, expected)


@pytest.mark.parametrize(("type_", "status", "truth", "moves"), RESOLVED_ROWS)
def test_a_resolution_moves_what_the_grid_says(type_: str, status: str, truth: str, moves: str) -> None:
    for fee, expected in ((30, moves), (0, without_fees(moves))):
        posting = resolution_of(a_transaction(Type(type_), Status(status), fee), CAUSES[truth])
        assert (posting.step, in_words(posting)) == (Step.RESOLUTION, expected)


def test_the_grids_leave_no_cell_out() -> None:
    contradicted = {(Type(row[0]), Status(row[1]), CAUSES[row[2]]) for row in CONTRADICTED_ROWS}
    assert contradicted == set(CONTRADICTIONS)
    assert {cell[:2] for cell in contradicted} == set(itertools.product(Type, FINAL))
    resolved = {(Type(row[0]), Status(row[1]), CAUSES[row[2]]) for row in RESOLVED_ROWS}
    assert resolved == set(RESOLUTIONS) == set(itertools.product(Type, FINAL, CAUSES.values()))


def _balances(*postings: Posting | None) -> dict[Account, int]:
    moves = [move for posting in postings if posting is not None for move in posting.moves]
    return {account: sum(move.change_of(account) for move in moves) for account in Account}


@pytest.mark.parametrize("fee", [0, 30])
@pytest.mark.parametrize(("type_", "status", "truth"), list(itertools.product(Type, FINAL, CAUSES)))
def test_after_its_resolution_every_account_is_as_if_the_truth_had_been_told_at_once(
    type_: Type, status: Status, truth: str, fee: int
) -> None:
    def reached(status: Status) -> Transaction:
        return a_transaction(type_, status, fee)

    seen = [posting_of(reached(Status.PENDING)), posting_of(reached(status))]
    posted = [*seen, contradiction_of(reached(status)), resolution_of(reached(status), CAUSES[truth])]
    told_at_once = Status.COMPLETED if truth == "paid" else Status.FAILED

    after = _balances(*posted)

    assert after[Account.SUSPENSE] == 0
    assert sum(after.values()) == 0
    assert after == _balances(posting_of(reached(Status.PENDING)), posting_of(reached(told_at_once)))


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    """With fees."""
    story = Story(service, merchant.id)
    await story.charge_fees()
    return story


async def _propose(database: Database, id_: str, truth: Truth) -> resolve.Resolved:
    async with database.begin() as tx:
        return await resolve.propose(tx, id_, resolve.Finding(truth, EVIDENCE), actor=ASHA, now=clock.now())


async def _resolve(database: Database, transaction: Transaction, truth: Truth) -> None:
    """By as many operators as it takes."""
    resolved = await _propose(database, transaction.id, truth)
    if not resolved.is_done:
        async with database.begin() as tx:
            await resolve.approve(tx, transaction.id, actor=JUMA, now=clock.now())


async def _lines(story: Story) -> list[Line]:
    """The statement, oldest first."""
    async with story.database.snapshot() as connection:
        _, lines = await statement.page(connection, story.merchant_id, Filter(), page=1, limit=100)
    return lines[::-1]


# What the merchant saw, what is true, and the lines of the statement: the wallet had 1,000,000.
STATEMENTS = """
    COLLECTION    FAILED     paid      CORRECTION_CREDIT +970
    COLLECTION    FAILED     not-paid
    COLLECTION    CANCELLED  paid      CORRECTION_CREDIT +970
    COLLECTION    CANCELLED  not-paid
    COLLECTION    COMPLETED  paid      COLLECTION +970
    COLLECTION    COMPLETED  not-paid  COLLECTION +970, CORRECTION_DEBIT -970
    DISBURSEMENT  FAILED     paid      PAYOUT -1030, PAYOUT_RETURNED +1030, CORRECTION_DEBIT -1030
    DISBURSEMENT  FAILED     not-paid  PAYOUT -1030, PAYOUT_RETURNED +1030
    DISBURSEMENT  CANCELLED  paid      PAYOUT -1030, PAYOUT_RETURNED +1030, CORRECTION_DEBIT -1030
    DISBURSEMENT  CANCELLED  not-paid  PAYOUT -1030, PAYOUT_RETURNED +1030
    DISBURSEMENT  COMPLETED  paid      PAYOUT -1030
    DISBURSEMENT  COMPLETED  not-paid  PAYOUT -1030, CORRECTION_CREDIT +1030
"""
STATEMENT_ROWS = [[*line.split(maxsplit=3), ""][:4] for line in STATEMENTS.strip().splitlines()]
# What each account holds in the end, beside the top-up, whatever happened on the way.
TRUE_BALANCES = {
    ("COLLECTION", "paid"): {"wallet": 970, "fees": 30, "float MPESA": -1000},
    ("COLLECTION", "not-paid"): {},
    ("DISBURSEMENT", "paid"): {"wallet": -1030, "fees": 30, "float MPESA": 1000},
    ("DISBURSEMENT", "not-paid"): {},
}


@pytest.mark.parametrize(("type_", "status", "truth", "lines"), STATEMENT_ROWS)
async def test_the_money_waits_in_suspense_until_it_is_known_where_it_belongs(
    story: Story, type_: str, status: str, truth: str, lines: str
) -> None:
    contradicted = await story.contradicted(Type(type_), Status(status))
    assert await story.status(contradicted) == status, "what the merchant saw stays"
    assert abs((await story.balances())["suspense"]) == 1000
    await witness.assert_clean(story.database)

    await _resolve(story.database, contradicted, TRUTHS[truth])

    assert await story.status(contradicted) == status, "even now"
    balances = {"wallet": 1_000_000, "bank": -1_000_000}
    for name, balance in TRUE_BALANCES[type_, truth].items():
        balances[name] = balances.get(name, 0) + balance
    assert await story.balances() == balances
    [top_up, *told] = await _lines(story)
    assert top_up.kind == "TOP_UP"
    assert ", ".join(f"{line.kind} {line.change:+}" for line in told) == lines
    assert {line.reference for line in told} <= {contradicted.reference}
    await witness.assert_clean(story.database)


async def test_a_contradiction_told_twice_moves_money_once(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    before = await story.balances()

    again = await story.hear(contradicted, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    assert not again.is_contradiction, "a callback only has it asked about"
    settled = await story.hear(contradicted, Verdict.CONFIRMED)

    assert settled.transaction.status is Status.FAILED
    assert await story.balances() == before
    assert await _noted(story) == 1, "and it is on the trail once"
    assert await story.dispatch(contradicted) is None
    await witness.assert_clean(story.database)


async def _noted(story: Story) -> int:
    async with story.database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM audit WHERE what = 'payment.contradicted'"))


async def test_contradictions_told_in_one_breath_move_money_once(story: Story) -> None:
    ended = await story.ended(Type.COLLECTION, Status.FAILED)
    reports = [a_report(ended, Verdict.CONFIRMED) for _ in range(3)]
    async with story.database.begin() as tx:
        await Settle(clock=clock.now, rules=RULES)(tx, reports, again=False)
    assert (await story.balances())["suspense"] == 1000
    assert await _noted(story) == 1
    await witness.assert_clean(story.database)


async def test_after_its_resolution_a_network_that_repeats_itself_moves_nothing(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.COMPLETED)
    await _resolve(story.database, contradicted, Truth.FAILED)
    before = await story.balances()

    for verdict in (Verdict.REFUSED, Verdict.CONFIRMED, Verdict.REFUSED):
        await story.hear(contradicted, verdict, Act.CALLBACK)
        await story.hear(contradicted, verdict)

    assert await story.balances() == before
    await witness.assert_clean(story.database)


async def test_a_payment_that_its_network_confirms_again_is_no_contradiction(story: Story) -> None:
    ended = await story.ended(Type.COLLECTION, Status.COMPLETED)
    before = await story.balances()
    for act in Act:
        assert not (await story.hear(ended, Verdict.CONFIRMED, act)).is_contradiction
    assert await story.balances() == before
    assert await story.dispatch(ended) is None
    await witness.assert_clean(story.database)


async def test_a_contradiction_is_on_the_trail_with_what_both_sides_said(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    async with story.database.read() as connection:
        [row] = await connection.fetch("SELECT * FROM audit WHERE what = 'payment.contradicted'")
    assert (row["who"], row["origin"], row["merchant_id"]) == ("network mpesa", "ask", story.merchant_id)
    for word in (contradicted.id, "FAILED", "confirmed", "1000"):
        assert word in row["details"]


@pytest.fixture
async def names(story: Story) -> dict[str, str]:
    """Contradicted payments of both types, open and cleared; a few others beside them."""
    names = {"merchant": story.merchant_id}
    for type_ in Type:
        for status in (Status.FAILED, Status.COMPLETED):
            name = f"{type_}_{status}".lower()
            names[name] = (await story.contradicted(type_, status)).id
            for truth in Truth:
                cleared = await story.contradicted(type_, status)
                await _resolve(story.database, cleared, truth)
                names[f"{name}_{truth}"] = cleared.id
        names[f"{type_}_open".lower()] = (await story.open(type_)).id
    # What was only proposed, or was rejected, moves nothing.
    await _propose(story.database, names["disbursement_failed"], Truth.COMPLETED)
    await _propose(story.database, names["disbursement_completed"], Truth.FAILED)
    async with story.database.begin() as tx:
        await resolve.reject(tx, names["disbursement_completed"], actor=JUMA, now=clock.now())
    names["processing"] = (await story.processing(Type.DISBURSEMENT)).id
    names["ended"] = (await story.ended(Type.COLLECTION, Status.COMPLETED)).id
    await witness.assert_clean(story.database)
    return names


_MOVE = """
    INSERT INTO moves (merchant_id, cause_id, step, line, source, target, channel, amount, at)
    VALUES ('{merchant}', '{%s}', '%s', %d, '%s', '%s', %s, 1000, now())
"""
# What is done to the book behind malipo's back, and whom the findings must name.
TAMPERED = {
    "a contradiction of another amount": (
        "UPDATE moves SET amount = 999 WHERE cause_id = '{disbursement_failed}' AND step = 'contradiction'",
        "disbursement_failed",
    ),
    "a contradiction the wrong way round": (
        """
        UPDATE moves SET source = target, target = source
        WHERE cause_id = '{collection_failed}' AND step = 'contradiction'
        """,
        "collection_failed",
    ),
    "a contradiction out of the bank": (
        """
        UPDATE moves SET source = 'bank', channel = NULL
        WHERE cause_id = '{collection_failed}' AND step = 'contradiction'
        """,
        "collection_failed",
    ),
    "a contradiction on another channel's float": (
        "UPDATE moves SET channel = 'HALOPESA' WHERE cause_id = '{collection_failed}' AND step = 'contradiction'",
        "collection_failed",
    ),
    "a contradiction twice": (
        _MOVE % ("disbursement_completed", "contradiction", 2, "float", "suspense", "'MPESA'"),
        "disbursement_completed",
    ),
    "a contradiction of a payment that is open": (
        _MOVE % ("processing", "contradiction", 1, "suspense", "float", "'MPESA'"),
        "processing",
    ),
    "a contradiction of a payment that does not exist": (
        "UPDATE moves SET cause_id = 'txn_nowhere' WHERE cause_id = '{collection_failed}' AND step = 'contradiction'",
        "txn_nowhere",
    ),
    "a status that changed after the contradiction": (
        """
        UPDATE transactions SET status = 'COMPLETED', failure_code = NULL, failure_reason = NULL
        WHERE id = '{collection_failed}'
        """,
        "collection_failed",
    ),
    "a resolution of something that was not contradicted": (
        _MOVE % ("ended", "resolution", 1, "suspense", "float", "'MPESA'"),
        "ended",
    ),
    "a resolution whose contradiction is gone": (
        "DELETE FROM moves WHERE cause_id = '{disbursement_failed_failed}' AND step = 'contradiction'",
        "disbursement_failed_failed",
    ),
    "a resolution of another amount": (
        "UPDATE moves SET amount = 999 WHERE cause_id = '{disbursement_failed_failed}' AND step = 'resolution'",
        "disbursement_failed_failed",
    ),
    "a fee that was not given back": (
        """
        DELETE FROM moves
        WHERE cause_id = '{disbursement_completed_failed}' AND step = 'resolution' AND source = 'fees'
        """,
        "disbursement_completed_failed",
    ),
    "a resolution that took from the bank what was the float's": (
        """
        UPDATE moves SET source = 'bank', channel = NULL
        WHERE cause_id = '{disbursement_failed_failed}' AND step = 'resolution'
        """,
        "disbursement_failed_failed",
    ),
    "a resolution that gave to the fees what was the float's": (
        """
        UPDATE moves SET target = 'fees', channel = NULL
        WHERE cause_id = '{collection_failed_failed}' AND step = 'resolution'
        """,
        "collection_failed_failed",
    ),
    "a resolution the other way than was said": (
        "UPDATE resolutions SET outcome = 'completed' WHERE transaction_id = '{collection_failed_failed}'",
        "collection_failed_failed",
    ),
    "a resolution that nobody has said": (
        "DELETE FROM resolutions WHERE transaction_id = '{disbursement_completed_failed}'",
        "disbursement_completed_failed",
    ),
    "a resolution that is gone, though operators have said it": (
        "DELETE FROM moves WHERE cause_id = '{disbursement_completed_completed}' AND step = 'resolution'",
        "disbursement_completed_completed",
    ),
    "a pending payment that nobody would send": (
        "DELETE FROM dispatches WHERE transaction_id = '{collection_open}'",
        "collection_open",
    ),
    "a payment on its way that nobody would ask about": (
        "DELETE FROM dispatches WHERE transaction_id = '{processing}'",
        "processing",
    ),
}


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction without a trace."""


async def _findings_after(database: Database, tampering: str) -> str:
    found: list[Finding] = []
    with suppress(_TakenBack):
        async with database.begin() as tx:
            done = await tx.execute(tampering)
            assert done.split()[-1] not in ("0",), f"nothing was tampered with: {tampering}"
            found += [*await audit.check(tx), *await payments_audit.check(tx)]
            raise _TakenBack
    return "\n".join(f"{each.where}: {each.what}" for each in found)


async def test_the_audit_finds_what_was_tampered_with_and_names_it(database: Database, names: dict[str, str]) -> None:
    unseen = {}
    for what, (tampering, whom) in TAMPERED.items():
        found = await _findings_after(database, tampering.format(**names))
        if names.get(whom, whom) not in found:
            unseen[what] = found

    assert unseen == {}
    await witness.assert_clean(database)
