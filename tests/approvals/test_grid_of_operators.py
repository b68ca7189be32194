"""Every act of the grid × who does it: one operator, the same one twice, two, and two of whom one was reset yesterday.

Each cell is done for real, by the use case that the pages and the command line share. Each form and each command, and
how recently each operator must have confirmed, are in `test_grid_of_doors.py`.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import booking_approval, key_approval, role_approval
from malipo.approvals.act_rules import BANK, Act
from malipo.approvals.booking_approval import AnyBooking
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Database, Tx
from malipo.errors import Forbidden
from malipo.floats.note_readings import note_seen
from malipo.ledger.bank_bookings import BankBooking, BankBookingKind
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.merchants import issue_api_keys, manage_people, onboard, password_links
from malipo.merchants.api_keys import Environment, KeyTerms, NewKey, Permission
from malipo.merchants.roles import Role
from malipo.networks.connector import Channel, Verdict
from malipo.operators import four_eyes, login
from malipo.operators import store as operators
from malipo.operators.roles import Role as OperatorRole
from malipo.payments.after_restore import release
from malipo.payments.after_restore.fence import fence
from malipo.payments.cases import cancel_unsent, resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.set_tariff import set_tariff
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.imports.store import withdrawals
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements, propose_by_system
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.exception import ExceptionState, ReconciliationException
from malipo.reconciliation.matching.report_evidence import approve_import
from malipo.reconciliation.matching.store import expected_charges
from malipo.reconciliation.matching.store.expected_charges import Charge
from malipo.reconciliation.statements.choose_profile import save_status_words
from malipo.restore import hold
from malipo.settlement import manage_bank_accounts, operator_acts
from malipo.settlement.operator_acts import SettlementActs
from tests.approvals.bank_cases import bank_case
from tests.approvals.grid import GRID, LIMIT, MORE, ONE, PEOPLE, RESET, TWICE, TWO
from tests.authenticator_app import enrolled
from tests.conftest import SECRET_KEY
from tests.ledger.suspense_bookings import in_suspense, released
from tests.operators.booking_steps import give_password, hire
from tests.payments.payment_steps import steps as steps
from tests.payments.resolving import EVIDENCE
from tests.reconciliation.close.books import LATER, MONDAY, Books
from tests.reconciliation.exception_desk import ExceptionDesk, a_stranger
from tests.reconciliation.import_desk import ImportDesk
from tests.reconciliation.statement_days import Entry, Statements, line_of
from tests.reconciliation.statement_days import statements as statements
from tests.restore.reporting_worker import note_worker
from tests.settlement.act_subjects import settlement_subject

REASON = "The network's staff told us so on the phone"
ASHA, JUMA = (operator_at(name, "till") for name in ("asha", "juma"))
COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT

Begin = Callable[[Actor], Awaitable[bool]]  # whether it is done already
Approve = Callable[[Actor], Awaitable[object]]


def _settlement_act(act: Act) -> Callable[[Tx, str, Actor], Awaitable[object]]:
    match act:
        case Act.REJECT_BANK_ACCOUNT:
            return lambda tx, id_, by: operator_acts.reject_account(tx, id_, REASON, actor=by, now=clock.now())
        case Act.STOP_BANK_ACCOUNT:
            return lambda tx, id_, by: manage_bank_accounts.stop(tx, id_, reason=REASON, actor=by, now=clock.now())
    return lambda tx, id_, by: operator_acts.cancel(tx, id_, actor=by, now=clock.now())


class World:
    """Payments, statements and operators; and one way to do each act."""

    def __init__(self, statements: Statements, folder: Path) -> None:
        self.statements = statements
        self.steps = statements.steps
        self.database: Database = statements.database
        self.folder = folder
        self.now: datetime = clock.now()
        self.alone = False  # with --alone
        self.seen: str | None = None  # the code of what the approver was shown

    def approving(self, actor: Actor) -> dict[str, Any]:
        return {"actor": actor, "now": clock.now(), "seen": self.seen, "is_single_operator": self.alone}

    async def write(self, act: Callable[[Tx], Awaitable[Any]]) -> Any:
        async with self.database.begin() as tx:
            return await act(tx)

    def resolving(self, payment: Transaction, outcome: str) -> tuple[Begin, Approve]:
        finding = OperatorFinding(ResolvedOutcome(outcome), EVIDENCE, is_despite_waiting=True)

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"actor": actor, "approval_amount": LIMIT, "now": clock.now()}
            how["is_single_operator"] = self.alone
            done = await self.write(lambda tx: resolve.propose(tx, payment.reference, finding, **how))
            return bool(done.is_done)

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: resolve.approve(tx, payment.reference, **self.approving(actor)))

        return begin, approve

    def cancelling(self, payout: Transaction) -> tuple[Begin, Approve]:
        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"actor": actor, "now": clock.now(), "is_single_operator": self.alone}
            how["unconnected"] = [(payout.channel, payout.type)]
            done = await self.write(lambda tx: cancel_unsent.cancel(tx, payout.id, **how))
            return bool(done.is_done)

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: resolve.approve(tx, payout.reference, **self.approving(actor)))

        return begin, approve

    def paying_key(self, merchant_id: str) -> tuple[Begin, Approve]:
        permissions = (Permission.PAYMENTS_CREATE,)
        terms = KeyTerms(name="Till", permissions=permissions, environment=Environment.LIVE, brand="mlp")

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"actor": actor, "approval_amount": LIMIT, "now": clock.now()}
            how["is_single_operator"] = self.alone
            done = await self.write(lambda tx: key_approval.request(tx, merchant_id, terms, **how))
            return isinstance(done, NewKey)

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: key_approval.approve(tx, merchant_id, **self.approving(actor)))

        return begin, approve

    def booking(self, booking: AnyBooking) -> tuple[Begin, Approve]:
        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"approval_amount": LIMIT, "actor": actor, "now": clock.now()}
            how["is_single_operator"] = self.alone
            done = await self.write(lambda tx: booking_approval.request(tx, booking, **how))
            return done.proposal is None

        async def approve(actor: Actor) -> object:
            reference = booking.bank_reference
            return await self.write(lambda tx: booking_approval.approve(tx, reference, **self.approving(actor)))

        return begin, approve

    def exception(self, found: ReconciliationException, action: Action, terms: dict[str, str]) -> tuple[Begin, Approve]:
        desk = ExceptionDesk(self.database, LIMIT)

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"reason": REASON, "actor": actor, "now": clock.now()}
            how["is_single_operator"] = self.alone
            if action is Action.UNDO:
                done = await self.write(lambda tx: desk.resolve.undo(tx, found.id, **how))
                return bool(done.state is ExceptionState.OPEN)
            done = await self.write(lambda tx: desk.resolve.propose(tx, found.id, action, terms, **how))
            return bool(done.state is not ExceptionState.PROPOSED)

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: desk.resolve.approve(tx, found.id, **self.approving(actor)))

        return begin, approve

    def statement(self, file_id: str, booking_id: str | None) -> tuple[Begin, Approve]:
        withdraw = WithdrawStatements(LIMIT)

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"reason": REASON, "actor": actor, "now": clock.now()}
            if booking_id is None:
                done = await self.write(lambda tx: withdraw.propose_withdrawal(tx, file_id, **how))
            else:
                how["is_single_operator"] = self.alone
                done = await self.write(lambda tx: withdraw.propose_undo(tx, booking_id, **how))
            return done.decided_at is not None

        async def approve(actor: Actor) -> object:
            subject = booking_id or file_id
            return await self.write(lambda tx: withdraw.approve(tx, subject, **self.approving(actor)))

        return begin, approve

    def doubted(self, file_id: str) -> tuple[Begin, Approve]:
        async def approve(actor: Actor) -> bool:
            withdraw = WithdrawStatements(LIMIT)
            done = await self.write(lambda tx: withdraw.approve(tx, file_id, **self.approving(actor)))
            return done.decided_at is not None

        return approve, approve

    def single(self, act: Callable[[Tx, Actor], Awaitable[object]]) -> tuple[Begin, Approve]:
        async def begin(actor: Actor) -> bool:
            await self.write(lambda tx: act(tx, actor))
            return True

        async def approve(actor: Actor) -> object:
            raise AssertionError("there is nothing to approve")

        return begin, approve

    async def of_bank(self, act: Act) -> tuple[Begin, Approve]:
        case = await bank_case(self.steps.service, self.database, self.folder, act)

        async def begin(actor: Actor) -> bool:
            return await case.begin(actor, **({"is_single_operator": True} if self.alone else {}))

        async def approve(actor: Actor) -> object:
            return await case.approve(**self.approving(actor))

        return begin, approve

    async def of(self, act: Act) -> tuple[Begin, Approve]:
        if act in BANK:
            return await self.of_bank(act)
        steps, statements, merchant_id = self.steps, self.statements, self.steps.merchant_id
        match act:
            case Act.RESOLVE_OPEN_COLLECTION:
                return self.resolving(await steps.processing(COLLECTION, MORE), "completed")
            case Act.RESOLVE_OPEN_PAYOUT:
                return self.resolving(await steps.processing(PAYOUT, 500), "failed")
            case Act.RESOLVE_REPORTED:
                reported = await steps.processing(COLLECTION, 500)
                await steps.report(reported, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
                return self.resolving(reported, "failed")
            case Act.RESOLVE_ENDED:
                return self.resolving(await steps.contradicted(COLLECTION, Status.COMPLETED, 500), "failed")
            case Act.IMPORT:
                return await self._import(await steps.ended(COLLECTION, Status.FAILED, MORE))
            case Act.REJECT_IMPORT:
                file_id, _ = await ImportDesk(statements).take(
                    await steps.ended(COLLECTION, Status.FAILED, MORE), amount=LIMIT
                )
                return self.single(lambda tx, by: import_approval.reject(tx, file_id, actor=by, now=clock.now()))
            case Act.TOP_UP:
                return self.booking(Booking(BookingKind.TOP_UP, merchant_id, MORE, "NMB-1"))
            case Act.SETTLEMENT:
                return self.booking(Booking(BookingKind.SETTLEMENT, merchant_id, MORE, "NMB-1"))
            case Act.TRANSFER:
                return self.booking(Transfer(TransferKind.TO_BANK, "MPESA", "", MORE, "NMB-1"))
            case Act.SUSPENSE_RELEASE:
                releases = await in_suspense(self.database, MORE)
                return self.booking(Booking(BookingKind.SUSPENSE_RELEASE, merchant_id, 500, "OURS-1", releases))
            case Act.SUSPENSE_TAKE_BACK:
                releases = await released(self.database, merchant_id, MORE)
                return self.booking(Booking(BookingKind.SUSPENSE_TAKE_BACK, merchant_id, 500, "OURS-2", releases))
            case Act.BOOK_AT_BANK:
                return self.booking(BankBooking(BankBookingKind.INTEREST, MORE, "NMB-1"))
            case Act.BOOK_EQUITY:
                return self.booking(BankBooking(BankBookingKind.CAPITAL, 500, "NMB-1"))
            case Act.BOOK_LINE:
                return self.exception(await a_stranger(statements, MORE), Action.BOOK, {"account": "suspense"})
            case Act.BOOK_PAYOUT_LINE:
                return self.exception(await a_stranger(statements, -500), Action.BOOK, {"account": "losses"})
            case Act.MATCH_LINE:
                payment = await steps.processing(COLLECTION, 500)
                await statements.take(line_of(payment, "QK1", key="", phone="255754***001"))
                [found] = await statements.open_exceptions()
                return self.exception(found, Action.MATCH, {"payment": payment.reference})
            case Act.ADOPT_LINE:
                found = await a_stranger(statements, 500)
                return self.exception(found, Action.ADOPT, {"merchant": merchant_id, "phone": "+255754000001"})
            case Act.NOTE:
                return self.exception(await a_stranger(statements, MORE), Action.NOTE, {})
            case Act.UNDO | Act.UNDO_OF_TWO:
                found = await a_stranger(statements, 600 if act is Act.UNDO else MORE)
                desk = ExceptionDesk(self.database, LIMIT)
                await desk.propose(found, Action.BOOK, {"account": "suspense"}, by=ASHA)
                if act is Act.UNDO_OF_TWO:
                    await desk.approve(found, by=JUMA)
                return self.exception(found, Action.UNDO, {})
            case Act.WITHDRAW_STATEMENT | Act.WITHDRAW_DOUBTED | Act.UNDO_STATEMENT_BOOKING:
                fee = Entry("F1", -MORE, clock.now() - timedelta(hours=1), "Fee")
                file = (await statements.load(statements.write(fee))).file
                await statements.match()
                async with self.database.read() as connection:
                    [booked] = await withdrawals.find_bookings(connection, file.id)
                if act is Act.WITHDRAW_DOUBTED:
                    await self.write(lambda tx: propose_by_system(tx, file, reason=REASON, now=clock.now()))
                    return self.doubted(file.id)
                return self.statement(file.id, booked.id if act is Act.UNDO_STATEMENT_BOOKING else None)
            case Act.CLOSE_DAY | Act.CLOSE_WITH_DIFFERENCE:
                return await self._close(lines=[("X", 700, "15:00", "money")] if act is not Act.CLOSE_DAY else [])
            case Act.RELEASE:
                await steps.service.fence("A test says that it was restored.", epoch=1)
                return self._release()
            case Act.VERIFY_BANK_ACCOUNT | Act.COLLECT_SETTLEMENT | Act.RELEASE_SETTLEMENTS:
                return await self._settlement(act)
            case Act.REJECT_BANK_ACCOUNT | Act.STOP_BANK_ACCOUNT | Act.CANCEL_SETTLEMENT:
                subject = await settlement_subject(act, steps.service, self.database, merchant_id)
                return self.single(lambda tx, by: _settlement_act(act)(tx, subject, by))
            case Act.END_HOLD:
                await self.write(lambda tx: hold.hold(tx, [], "Counting", actor=JUMA, now=clock.now()))
                return self.single(lambda tx, actor: hold.end(tx, [], actor=actor, now=clock.now()))
            case Act.CANCEL_PAYMENT:
                payout = await steps.open(PAYOUT, 500)
                await self.write(lambda tx: note_worker(tx, []))
                return self.cancelling(payout)
            case Act.CANCEL_UNREPORTED:
                return self.cancelling(await steps.open(PAYOUT, 500))
            case Act.SAVE_LAYOUT:
                said: dict[str, Any] = {"moved": ["Bado"], "not_moved": [], "now": clock.now()}
                return self.single(lambda tx, by: save_status_words(tx, "generic", actor=by, **said))
            case Act.SET_TARIFF:
                return self.single(
                    lambda tx, by: set_tariff(tx, merchant_id, PAYOUT, [Channel.MPESA], [], actor=by, now=clock.now())
                )
            case Act.SET_CHARGE:  # The command itself writes it.
                charge = Charge(channel=Channel.MPESA, type=PAYOUT, basis_points=100, fixed_fee=0, min_fee=0)
                return self.single(lambda tx, by: expected_charges.set_charge(tx, charge, by=by.name, now=clock.now()))
            case Act.NOTE_READING:
                return self.single(lambda tx, by: note_seen(tx, Channel.MPESA, "", 5, actor=by, now=clock.now()))
            case Act.CREATE_MERCHANT:
                return self.single(lambda tx, by: onboard.create_merchant(tx, "Soko", actor=by, now=clock.now()))
            case Act.FENCE:
                return self.single(lambda tx, by: fence(tx, REASON, actor=by, now=clock.now(), epoch=1))
            case Act.SWITCH_MERCHANT:
                return self.single(
                    lambda tx, by: onboard.set_active(tx, merchant_id, is_active=False, actor=by, now=clock.now())
                )
            case Act.VOUCH:
                await give_password(self.database, "neema", by=JUMA)
                return self.single(lambda tx, actor: four_eyes.vouch(tx, "neema", actor=actor, now=clock.now()))
            case Act.MAKE_KEY:
                may = (Permission.PAYMENTS_READ,)
                terms = KeyTerms(name="Till", permissions=may, brand="mlp", environment=Environment.LIVE)
                return self.single(
                    lambda tx, actor: issue_api_keys.create_key(tx, merchant_id, terms, actor=actor, now=clock.now())
                )
            case Act.MAKE_PAYING_KEY:
                return self.paying_key(merchant_id)
            case Act.GIVE_ROLE:
                return await self._role()
            case Act.RESET_SECOND_FACTOR:
                await enrolled(self.database, "opr_neema", secret_key=SECRET_KEY)
                return self.single(lambda tx, by: login.reset_second_factor(tx, "neema", actor=by, now=clock.now()))
            case Act.SET_OPERATOR_PASSWORD:
                return self.single(lambda tx, by: login.set_password(tx, "neema", "x", actor=by, now=clock.now()))
        return self._of_person(act)

    async def _role(self) -> tuple[Begin, Approve]:
        """Of somebody who reads only, so that the others stay as many as they are."""
        insert = partial(operators.insert_operator, now=clock.now(), role=OperatorRole.AUDITOR)
        await self.write(lambda tx: insert(tx, "opr_rehema", "rehema"))

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"actor": actor, "now": clock.now(), "is_single_operator": self.alone}
            asked = partial(role_approval.request, name="rehema", role=OperatorRole.SUPPORT, reason=REASON, **how)
            return await self.write(asked) is None

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: role_approval.approve(tx, "rehema", **self.approving(actor)))

        return begin, approve

    async def _settlement(self, act: Act) -> tuple[Begin, Approve]:
        subject = await settlement_subject(act, self.steps.service, self.database, self.steps.merchant_id)
        acts = SettlementActs(timedelta(hours=72))

        async def begin(actor: Actor) -> bool:
            how: dict[str, Any] = {"actor": actor, "now": clock.now()}
            match act:
                case Act.VERIFY_BANK_ACCOUNT:
                    done = await self.write(lambda tx: acts.verify(tx, subject, EVIDENCE, **how))
                case Act.COLLECT_SETTLEMENT:
                    done = await self.write(lambda tx: acts.collect(tx, subject, EVIDENCE, is_waived=True, **how))
                case _:
                    done = await self.write(lambda tx: acts.release(tx, EVIDENCE, **how))
            return bool(done.is_done)

        async def approve(actor: Actor) -> object:
            return await self.write(lambda tx: acts.approve(tx, subject, **self.approving(actor)))

        return begin, approve

    def _of_person(self, act: Act) -> tuple[Begin, Approve]:
        async def do(tx: Tx, actor: Actor) -> object:
            how: dict[str, Any] = {"actor": actor, "now": clock.now()}
            person = await manage_people.add_person(
                tx, self.steps.merchant_id, email="neema@example.com", name="", role=Role.OWNER, **how
            )
            match act:
                case Act.ADD_PERSON:
                    return person
                case Act.MAKE_PASSWORD_LINK:
                    return await password_links.make_link(tx, person, **how)
            raise AssertionError(act)

        return self.single(do)

    async def _import(self, payment: Transaction) -> tuple[Begin, Approve]:
        desk = ImportDesk(self.statements)
        files: list[str] = []

        async def begin(actor: Actor) -> bool:
            file = await desk.bring(self.statements.write(line_of(payment)), actor)
            files.append(file.file.id)
            matched = await self.statements.match(LIMIT)
            if matched.awaiting_approval and self.alone:
                await approve(actor)
            return self.alone or matched.awaiting_approval == 0

        async def approve(actor: Actor) -> object:
            apply_answers = self.statements.apply_answers()
            return await self.write(lambda tx: approve_import(tx, apply_answers, files[-1], **self.approving(actor)))

        return begin, approve

    async def _close(self, lines: list[Any]) -> tuple[Begin, Approve]:
        self.now = LATER
        books = await Books.begin(self.database, self.folder)
        await books.statement(MONDAY, lines)

        async def begin(actor: Actor) -> bool:
            how = {"accepts_difference": True, "reason": "small"} if lines else {}
            return isinstance(await books.try_to_close(MONDAY, actor=actor, **how), ClosedDay)

        return begin, lambda actor: books.approve(MONDAY, actor=actor, seen=self.seen)

    def _release(self) -> tuple[Begin, Approve]:
        async def begin(actor: Actor) -> bool:
            done = await self.write(lambda tx: release.release(tx, EVIDENCE, **self.approving(actor)))
            return bool(done.is_done)

        return begin, begin


@pytest.fixture
async def world(statements: Statements, tmp_path: Path) -> World:
    await hire(statements.database, "asha", "juma", "neema")
    return World(statements, tmp_path)


def test_every_act_has_a_row() -> None:
    assert set(GRID) == {act.value for act in Act}


CELLS = [
    (act, who, row.cells[who])
    for act, row in GRID.items()
    for who in (PEOPLE if row.cells is TWO else (ONE,))  # A second one has nothing to do, where one is enough.
]


@pytest.mark.parametrize(("act", "who", "expected"), CELLS, ids=[f"{act}, {who}" for act, who, _ in CELLS])
async def test_the_grid(world: World, act: str, who: str, expected: str) -> None:
    begin, approve = await world.of(Act(act))
    if who == RESET:
        yesterday = world.now - timedelta(days=1)
        await give_password(world.database, "juma", by=ASHA, ago=clock.now() - yesterday)
    assert await _outcome(begin, approve, who) == expected
    async with world.database.read() as connection:
        sql = "SELECT requested_by, decided_by, is_approved FROM proposals WHERE action = $1"
        kept = [tuple(row) for row in await connection.fetch(sql, act)]
    decided = (JUMA.name, True) if expected == "done" else (None, None)
    assert kept == ([(ASHA.name, *decided)] if GRID[act].cells is TWO else []), "all that waits, waits in one table"


async def _outcome(begin: Begin, approve: Approve, who: str) -> str:
    if await begin(ASHA):
        return "done"
    if who == ONE:
        return "waits"
    try:
        await approve(ASHA if who == TWICE else JUMA)
    except Forbidden:
        return "refused"
    return "done"


# Where only one operator exists: what --alone does. Withdrawals, differences of a day, merchants' bank accounts and
# settlements have no such way.
ALONE = {
    "resolve_open_collection": "done",
    "resolve_open_payout": "refused",
    "resolve_reported": "refused",
    "resolve_ended": "refused",
    "import": "done",
    "top_up": "done",
    "settlement": "done",
    "transfer": "done",
    "suspense_release": "refused",
    "suspense_take_back": "refused",
    "book_at_bank": "done",
    "book_equity": "done",
    "book_line": "done",
    "book_payout_line": "refused",
    "match_line": "refused",
    "adopt_line": "refused",
    "undo": "done",
    "undo_of_two": "refused",
    "withdraw_doubted": "done",
    "undo_statement_booking": "done",
    "release": "done",
    "cancel_unreported": "done",
    "make_paying_key": "done",
    "give_role": "done",
    "import_bank_statement": "done",
    "book_bank_line": "done",
    "match_bank_line": "refused",
    "adopt_settlement": "refused",
}


@pytest.mark.parametrize(("act", "expected"), ALONE.items())
async def test_the_only_operator_with_alone(statements: Statements, tmp_path: Path, act: str, expected: str) -> None:
    world = World(statements, tmp_path)
    await hire(world.database, "asha")
    begin, _ = await world.of(Act(act))
    world.alone = True
    assert await _tried(begin) == expected
    async with world.database.read() as connection:
        sql = "SELECT count(*) FROM audit_log WHERE details ->> 'alone' = 'true' AND actor = $1"
        noted = await connection.fetchval(sql, ASHA.name)
    assert bool(noted) == (expected == "done"), "the audit log keeps it"


@pytest.mark.parametrize("act", [act for act, expected in ALONE.items() if expected == "done"])
async def test_with_a_second_operator_nobody_is_alone(world: World, act: str) -> None:
    begin, _ = await world.of(Act(act))
    world.alone = True
    assert await _tried(begin) == "refused"


@pytest.mark.parametrize("act", [act for act, row in GRID.items() if row.cells is TWO])
async def test_the_only_operator_approves_alone_what_they_have_proposed(
    statements: Statements, tmp_path: Path, act: str
) -> None:
    """As the pages do it, and the commands that approve. What has no way to be alone is refused."""
    world = World(statements, tmp_path)
    await hire(world.database, "asha")
    begin, approve = await world.of(Act(act))
    assert not await begin(ASHA)
    if act == "close_with_difference":
        return  # It takes no --alone.
    world.alone = True
    expected = ALONE.get(act, "refused")
    try:
        await approve(ASHA)
        done = "done"
    except Forbidden:
        done = "refused"
    assert done == expected
    async with world.database.read() as connection:
        noted = await connection.fetchval("SELECT count(*) FROM audit_log WHERE details ->> 'alone' = 'true'")
        kept = await connection.fetchval("SELECT bool_or(is_single_operator) FROM proposals WHERE action = $1", act)
    assert (bool(noted), kept) == (expected == "done", expected == "done"), "the audit log keeps it"


async def _tried(begin: Begin) -> str:
    try:
        return "done" if await begin(ASHA) else "waits"
    except Forbidden:
        return "refused"
