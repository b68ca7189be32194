"""Absence: a payment is absent from statements only where complete statements cover its time."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.network_statements.profile import built_in, decode
from malipo.networks.connector import Channel, Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.matching.carriers import aggregators, carrier_of
from malipo.reconciliation.statements.choose_profile import encode
from malipo.reconciliation.statements.coverage import Span, covered_by_all, spans_of
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.stored_problems import problem_of
from tests.payments.payment_steps import steps
from tests.payments.resolving import propose
from tests.reconciliation.statement_days import Entry, Statements, line_of, statements

__all__ = ["statements", "steps"]

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2026, 11, 1, tzinfo=UTC)


def a_file(first: int, last: int, opening: int | None = 0, closing: int | None = 0, **changes: object) -> StatementFile:
    fields: dict[str, object] = {
        "id": "stf_1",
        "channel": Channel.MPESA,
        "account": "",
        "sha256": b"",
        "name": "a.csv",
        "profile": "generic",
        "begins_at": START + first * HOUR,
        "ends_at": START + last * HOUR,
        "opening": opening,
        "closing": closing,
        "line_count": 1,
        "new_count": 1,
        "problems": (),
        "imported_by": "asha",
        "imported_at": START,
    }
    return StatementFile(**fields | changes)  # type: ignore[arg-type]


def hours(spans: list[Span]) -> list[tuple[float, float]]:
    return [((a - START) / HOUR, (b - START) / HOUR) for a, b in spans]


@pytest.mark.parametrize(
    ("files", "covered"),
    [
        ([], []),
        ([a_file(0, 24)], [(0, 24)]),
        ([a_file(24, 48, 7, 9), a_file(0, 24, 0, 7)], [(0, 48)]),
        ([a_file(0, 24, 0, 7), a_file(24, 48, 8, 9)], [(0, 24), (24, 48)]),
        ([a_file(0, 30, 0, 7), a_file(24, 48, 5, 9)], [(0, 48)]),
        ([a_file(0, 23, 0, 7), a_file(25, 48, 7, 9)], [(0, 48)]),
        ([a_file(0, 24, 0, 7), a_file(48, 72, 9, 9)], [(0, 24), (48, 72)]),
        ([a_file(0, 48, 0, 7), a_file(6, 12, 3, 4), a_file(48, 72, 7, 9)], [(0, 72)]),
        ([a_file(0, 24, problems=(problem_of("It does not add up."),))], []),
        ([a_file(0, 24, None, None)], []),
        ([a_file(0, 24, begins_at=None)], []),
    ],
)
def test_files_cover_what_they_cover_without_a_gap(
    files: list[StatementFile], covered: list[tuple[float, float]]
) -> None:
    assert hours(spans_of(files)) == covered


def test_a_channel_is_covered_where_all_its_accounts_are() -> None:
    one, other = [a_file(0, 24), a_file(48, 72, 5, 5)], [a_file(12, 60, 1, 1)]
    assert hours(covered_by_all([spans_of(one), spans_of(other)])) == [(12, 24), (48, 60)]
    assert covered_by_all([spans_of(one), []]) == []
    assert covered_by_all([spans_of([a_file(0, 24)]), spans_of([a_file(48, 72)])]) == []
    assert covered_by_all([]) == []


async def test_a_payment_that_complete_statements_do_not_have_is_ours_only(statements: Statements) -> None:
    collection, payout = await statements.completed(), await statements.completed(Type.DISBURSEMENT, 700)
    open_ = await statements.steps.processing(Type.DISBURSEMENT, 300)
    await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.steps.open(Type.COLLECTION)
    done = await statements.take()
    assert done.waiting == 0
    found = {each.transaction_id: (each.kind, each.amount) for each in await statements.open_exceptions()}
    assert found == {
        collection.id: ("ours_only", 1000),
        payout.id: ("ours_only", -700),
        open_.id: ("ours_only", -300),
    }
    assert await statements.status(open_) is Status.PROCESSING, "absence ends nothing"
    assert (await statements.match()).exceptions.count == 0


async def test_a_payment_that_operators_called_paid_before_its_network_answered_is_ours_only(
    statements: Statements,
) -> None:
    sent = await statements.steps.send(Type.COLLECTION, lease_seconds=0)
    await propose(statements.steps, sent.id, ResolvedOutcome.COMPLETED)
    await statements.take()
    [found] = await statements.open_exceptions()
    assert (found.kind, found.transaction_id, found.amount) == ("ours_only", sent.id, 1000)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [(-DAY, 5 * HOUR), (timedelta(minutes=1), 2 * DAY)],
    ids=["it may be booked some hours later", "it was sent before"],
)
async def test_a_payment_whose_time_is_not_covered_is_only_counted(
    statements: Statements, begins: timedelta, ends: timedelta
) -> None:
    await statements.completed()
    now = clock.now()
    done = await statements.take(begins=now + begins, ends=now + ends)
    assert (done.waiting, done.exceptions.count) == (1, 0)


async def test_a_missing_day_proves_nothing_until_it_is_imported(statements: Statements) -> None:
    await statements.completed()
    now = clock.now()
    before = statements.write(begins=now - 3 * DAY, ends=now - DAY, opening=100)
    missing = statements.write(Entry("B1", -20, now, "Other"), begins=now - DAY, ends=now + DAY, opening=100)
    after = statements.write(begins=now + DAY, ends=now + 3 * DAY, opening=80)
    for path in (before, after):
        await statements.load(path)
        assert (await statements.match()).exceptions.count == 0
    await statements.load(missing)
    await statements.match()
    assert await statements.kinds() == [("ours_only", 1000), ("theirs_only", -20)]


async def test_a_file_that_does_not_add_up_proves_nothing(statements: Statements) -> None:
    await statements.completed()
    path = statements.write()
    path.write_text(path.read_text().replace("closing balance,5000000", "closing balance,5000001"))
    await statements.load(path, accepts_problems=True)
    assert (await statements.match()).waiting == 1
    assert await statements.kinds() == []


async def test_another_account_that_is_not_covered_may_have_it(statements: Statements) -> None:
    await statements.completed()
    now = clock.now()
    await statements.load(statements.write(), account="one")
    await statements.load(statements.write(begins=now - 3 * DAY, ends=now - 2 * DAY, opening=1), account="two")
    assert (await statements.match()).exceptions.count == 0


async def test_a_line_of_that_amount_without_a_place_may_be_it(statements: Statements) -> None:
    await statements.completed()
    stranger = Entry("T1", 1000, clock.now(), "Payment from customer")
    await statements.take(stranger)
    assert await statements.kinds() == [("theirs_only", 1000)]


async def test_a_later_file_that_has_it_resolves_what_was_ours_only(statements: Statements) -> None:
    payment = await statements.completed()
    await statements.take()
    now = clock.now() + 2 * DAY
    done = await statements.take(line_of(payment), begins=now, ends=now)
    assert (done.matched, done.resolved) == (1, 1)
    assert await statements.kinds() == []


async def test_a_payment_that_has_failed_meanwhile_is_absent_rightly(statements: Statements) -> None:
    payment = await statements.steps.processing(Type.DISBURSEMENT)
    await statements.take()
    await statements.steps.report(payment, Verdict.REFUSED)
    assert (await statements.match()).resolved == 1


async def carried_by(statements: Statements, payment: Transaction, connector: str | None) -> None:
    """As if another connector than M-Pesa's own had carried it; None: nobody has reported it, and two carry its kind."""
    key = (payment.merchant_id, payment.id, connector)
    async with statements.database.begin() as tx:
        if connector is None:
            await tx.execute("DELETE FROM network_answers WHERE merchant_id = $1 AND transaction_id = $2", *key[:2])
            await tx.execute(
                "INSERT INTO carriers SELECT channel, type, 'azampay' FROM carriers ON CONFLICT DO NOTHING"
            )
            return
        for table in ("network_answers", "dispatches"):
            await tx.execute(f"UPDATE {table} SET connector = $3 WHERE merchant_id = $1 AND transaction_id = $2", *key)


@pytest.mark.parametrize("connector", ["clickpesa", "azampay", None])
async def test_a_payment_that_an_aggregator_carried_is_not_expected_in_the_networks_own_statement(
    statements: Statements, connector: str | None
) -> None:
    """With a layout of its statement or without one, and also if it is not known who carried it."""
    payout = await statements.completed(Type.DISBURSEMENT)
    open_ = await statements.steps.send(Type.DISBURSEMENT, 300)  # It was handed over, and nobody has answered.
    for each in (payout, open_):
        await carried_by(statements, each, connector)
    own = await statements.completed(Type.DISBURSEMENT, 700)
    done = await statements.take()
    found = {each.transaction_id for each in await statements.open_exceptions()}
    # The work queue still knows who has the open one.
    assert found == ({own.id} if connector else {own.id, open_.id})
    assert (done.waiting, done.without_carrier_statement) == (0, 2 if connector else 1)


async def test_an_aggregators_own_statement_has_what_it_carried_on_every_channel(statements: Statements) -> None:
    """AzamPay has no layout of its own: the name of the account says whose it is."""
    paid, absent = [await statements.completed(Type.DISBURSEMENT, amount) for amount in (500, 600)]
    for each in (paid, absent):
        await carried_by(statements, each, "azampay")
    assert (await statements.take()).without_carrier_statement == 2
    other = dataclasses.replace(statements, channel=Channel.TIGO_PESA, files=7)
    await other.load(other.write(line_of(paid, "AZ1")), account="azampay")
    done = await statements.match()
    assert (done.matched, done.without_carrier_statement) == (1, 0)
    [found] = await statements.open_exceptions()
    assert (found.kind, found.transaction_id) == ("ours_only", absent.id)


@pytest.mark.parametrize("name", ["azampay", "AzamPay", "Azam Pay", "ClickPesa"])
async def test_an_aggregators_account_is_its_own_however_its_name_is_typed_the_first_time(
    statements: Statements, name: str
) -> None:
    """There is no statement of M-Pesa at all, so nothing is known of what M-Pesa itself has paid."""
    await statements.completed(Type.DISBURSEMENT)
    done = await statements.load(statements.write(Entry("AZ1", 5, clock.now())), account=name)
    assert done.file.account == name.lower().replace(" ", "")
    await statements.match()
    assert [kind for kind, _ in await statements.kinds()] == ["theirs_only"]


async def test_a_payment_that_was_wrongly_ours_only_is_resolved_and_its_proposal_with_it(
    statements: Statements,
) -> None:
    payout = await statements.completed(Type.DISBURSEMENT)
    await statements.take()
    [found] = await statements.open_exceptions()
    await carried_by(statements, payout, "azampay")
    assert (await statements.match()).resolved == 1
    async with statements.database.read() as connection:
        why = await connection.fetchval("SELECT why_resolved FROM reconciliation_exceptions WHERE id = $1", found.id)
    assert why == "There is no statement of azampay, which carried it."
    assert await statements.status(payout) is Status.COMPLETED


def test_a_saved_layout_can_be_an_aggregators() -> None:
    saved = replace(built_in()["generic"], name="azampay-portal", channels=tuple(Channel), carrier="azampay")
    assert decode("azampay-portal", encode(saved)).carrier == "azampay"
    file = a_file(0, 24, profile="azampay-portal", channel=Channel.HALOPESA)
    assert carrier_of(file, {"azampay-portal": saved}) == "azampay"
    assert carrier_of(file, {}) == "halopesa"
    # An older version has kept the name as it was typed.
    for account in ("clickpesa", "ClickPesa"):
        assert carrier_of(a_file(0, 24, account=account), {}) == "clickpesa"
    assert aggregators() == {"clickpesa": tuple(Channel), "azampay": tuple(Channel)}


@pytest.mark.parametrize(("account", "connector"), [("azampay", "azampay"), ("", "mpesa")])
async def test_a_lines_report_names_the_connector_whose_statement_it_is(
    statements: Statements, account: str, connector: str
) -> None:
    """The network log, the audit log and the next query have the aggregator's name, not that of the channel's own."""
    failed = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.load(statements.write(line_of(failed, "AZ1")), account=account)
    assert (await statements.match()).contradicted == 1
    async with statements.database.read() as connection:
        logged = await connection.fetchval("SELECT connector FROM network_answers WHERE source = 'statement'")
        actor = await connection.fetchval("SELECT actor FROM audit_log WHERE action = 'payment.contradicted'")
    assert (logged, actor) == (connector, f"network {connector}")
