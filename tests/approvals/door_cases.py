"""For each act of the grid, something that it can be done about, on a database that all rows share.

Each case has a merchant, an account at the network and references of its own, so that no case sees another.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from malipo import clock
from malipo.app.assemble import Service
from malipo.approvals.act_rules import BANK, Act
from malipo.approvals.booking_approval import AnyBooking
from malipo.audit_log.actor import operator_at
from malipo.db import Database
from malipo.ledger.bank_bookings import BankBooking, BankBookingKind
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.merchants import issue_api_keys, manage_people, onboard, password_links
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.merchants.roles import Role
from malipo.networks.connector import Verdict
from malipo.operators import login
from malipo.operators import store as operators
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.imports.store import withdrawals
from malipo.reconciliation.imports.withdraw_statement import propose_by_system
from malipo.restore import hold
from malipo.restore.store import installation
from tests.approvals.bank_cases import BankCase, bank_case
from tests.approvals.grid import LIMIT, MORE
from tests.authenticator_app import enrolled
from tests.cheap_hash import cheap_hash
from tests.conftest import NOBODY, SECRET_KEY, make_merchant
from tests.ledger.suspense_bookings import in_suspense, released
from tests.payments.payment_steps import PaymentSteps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.statement_days import Entry, Statements, line_of
from tests.restore.reporting_worker import note_worker
from tests.settlement.act_subjects import settlement_subject

COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT
ASHA, JUMA = (operator_at(name, "till") for name in ("asha", "juma"))
COLUMNS = ("receipt", "time", "amount", "reference", "status")
FIRST_CLOSED = 40  # days ago: before anything else happens here


@dataclass
class Case:
    """What the act is about; only what its forms and commands name."""

    act: Act
    merchant_id: str
    account: str
    payment: Transaction | None = None
    outcome: str = ""
    booking: AnyBooking | None = None
    exception_id: str = ""
    choice: str = ""  # as the page has it: book:suspense
    terms: dict[str, str] = field(default_factory=dict)
    file: Path | None = None  # a statement that is not imported yet
    file_id: str = ""
    booking_id: str = ""
    day: str = ""
    subject: str = ""  # a bank account, a settlement, or the epoch that is released
    name: str = ""  # of an operator
    email: str = ""
    key_id: str = ""
    channel: str = ""  # of the file, if it is another than the payment's
    layout: str = ""  # the name of a layout
    word: str = ""  # of a status, which no layout knows
    bank: BankCase | None = None
    codes: dict[str, str] = field(default_factory=dict)  # of what a command has shown to who approves


class Cases:
    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.database: Database = service.queries.database
        self._folder = folder

    async def of(self, act: Act, form: str) -> Case:
        """A new one. The form or the command by which it begins matters where an act has several."""
        merchant = await make_merchant(self.database, wallet=10_000, name=f"Duka {secrets.token_hex(4)}")
        steps = PaymentSteps(self.service, merchant.id)
        mark = secrets.token_hex(4)
        statements = Statements(steps, self._folder, account=f"Till {mark}")
        case = Case(act, merchant.id, statements.account)
        if act in BANK:
            case.bank = await bank_case(self.service, self.database, self._folder, act)
            return case
        match act:
            case Act.RESOLVE_OPEN_COLLECTION:
                case.payment, case.outcome = await steps.processing(COLLECTION, MORE), "completed"
            case Act.RESOLVE_OPEN_PAYOUT:
                case.payment, case.outcome = await steps.processing(PAYOUT, 500), "failed"
            case Act.RESOLVE_REPORTED:
                case.payment, case.outcome = await steps.processing(COLLECTION, 500), "failed"
                await steps.report(case.payment, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
            case Act.RESOLVE_ENDED if "exceptions" in form:
                case.payment = await steps.ended(PAYOUT, Status.FAILED, 500)
                await statements.take(line_of(case.payment))
                [found] = await statements.open_exceptions()
                case.exception_id, case.choice, case.terms = found.id, "resolve:completed", {"outcome": "completed"}
            case Act.RESOLVE_ENDED:
                case.payment = await steps.contradicted(COLLECTION, Status.COMPLETED, 500)
                case.outcome = "failed"
            case Act.IMPORT:
                case.payment = await self._declined(steps)
                case.file = statements.write(line_of(case.payment), name=f"{mark}.csv")
            case Act.REJECT_IMPORT:
                case.payment = await steps.ended(COLLECTION, Status.FAILED, MORE)
                file = statements.write(line_of(case.payment), name=f"{mark}.csv")
                case.file_id = (await statements.load(file, by=ASHA)).file.id
                await statements.match(LIMIT)
            case Act.TOP_UP:
                case.booking = Booking(BookingKind.TOP_UP, merchant.id, MORE, f"NMB-{mark}")
            case Act.SETTLEMENT:
                case.booking = Booking(BookingKind.SETTLEMENT, merchant.id, MORE, f"NMB-{mark}")
            case Act.TRANSFER:
                case.booking = Transfer(TransferKind.TO_BANK, "MPESA", "", MORE, f"NMB-{mark}")
            case Act.SUSPENSE_RELEASE:
                cause = await in_suspense(self.database, MORE)
                case.booking = Booking(BookingKind.SUSPENSE_RELEASE, merchant.id, MORE, f"OURS-{mark}", cause)
            case Act.SUSPENSE_TAKE_BACK:
                cause = await released(self.database, merchant.id, MORE, reference=f"OURS-{mark}")
                case.booking = Booking(BookingKind.SUSPENSE_TAKE_BACK, merchant.id, MORE, f"BACK-{mark}", cause)
            case Act.BOOK_AT_BANK:
                case.booking = BankBooking(BankBookingKind.BANK_CHARGE, MORE, f"NMB-{mark}")
            case Act.BOOK_EQUITY:
                case.booking = BankBooking(BankBookingKind.CAPITAL, MORE, f"NMB-{mark}")
            case Act.BOOK_LINE | Act.BOOK_PAYOUT_LINE | Act.ADOPT_LINE | Act.MATCH_LINE | Act.NOTE:
                await self._exception(case, statements, mark)
            case Act.UNDO | Act.UNDO_OF_TWO:
                await self._done_about_exception(case, statements, mark)
            case Act.WITHDRAW_STATEMENT | Act.WITHDRAW_DOUBTED | Act.UNDO_STATEMENT_BOOKING:
                fee = Entry(f"F{mark}", -MORE, clock.now() - timedelta(hours=1), "Fee")
                loaded = (await statements.load(statements.write(fee, name=f"{mark}.csv"))).file
                case.file_id = loaded.id
                await statements.match()
                if act is Act.WITHDRAW_DOUBTED:
                    async with self.database.begin() as tx:
                        await propose_by_system(tx, loaded, reason="The worker has fetched it", now=clock.now())
                if act is Act.UNDO_STATEMENT_BOOKING:
                    async with self.database.read() as connection:
                        [booked] = await withdrawals.find_bookings(connection, case.file_id)
                    case.booking_id = booked.id
            case Act.CLOSE_DAY | Act.CLOSE_WITH_DIFFERENCE:
                await self._day(case)
            case Act.RELEASE:
                async with self.database.read() as connection:
                    epoch = await connection.fetchval("SELECT epoch FROM installation")
                await self.service.fence("A test says that it was restored.", epoch=epoch)
            case (
                Act.VERIFY_BANK_ACCOUNT
                | Act.REJECT_BANK_ACCOUNT
                | Act.STOP_BANK_ACCOUNT
                | Act.CANCEL_SETTLEMENT
                | Act.COLLECT_SETTLEMENT
                | Act.RELEASE_SETTLEMENTS
            ):
                case.subject = await settlement_subject(act, self.service, self.database, merchant.id)
            case Act.CANCEL_PAYMENT | Act.CANCEL_UNREPORTED:  # No network is connected here, so nothing was sent.
                case.payment = await steps.open(PAYOUT, 500)
                async with self.database.begin() as tx:
                    routes: list[str] | None = [] if act is Act.CANCEL_PAYMENT else None
                    await note_worker(tx, routes, worker_id="wrk_grid")
            case Act.SAVE_LAYOUT:
                columns = tuple(f"{each} {mark}" for each in COLUMNS) if form.endswith("/layout") else COLUMNS
                self._with_status(case, mark, columns, [f"K{mark}", "2026-11-01 10:00:00", MORE, "", f"Bado{mark}"])
            case Act.SWITCH_MERCHANT if form == "merchant activate":
                async with self.database.begin() as tx:
                    await onboard.set_active(tx, merchant.id, is_active=False, actor=NOBODY, now=clock.now())
            case Act.SET_TARIFF | Act.SWITCH_MERCHANT | Act.MAKE_PAYING_KEY | Act.FENCE | Act.SET_CHARGE:
                pass
            case Act.NOTE_READING | Act.CREATE_MERCHANT:
                case.name = f"Soko {mark}"
            case Act.END_HOLD:
                async with self.database.begin() as tx:
                    await hold.hold(tx, [], "Counting", actor=JUMA, now=clock.now())
            case _:
                await self._access(case, mark, is_of_merchant=form.startswith("merchant"))
        return case

    async def read_by_word(self, *, is_unknown: bool) -> Case:
        """A collection that its network has refused, in a file whose status nobody knows; or not its columns either."""
        merchant, mark = await make_merchant(self.database, name=f"Duka {secrets.token_hex(4)}"), secrets.token_hex(4)
        case = Case(Act.IMPORT, merchant.id, f"Till {mark}")
        case.payment = await self._declined(PaymentSteps(self.service, merchant.id))
        at = (case.payment.created_at + timedelta(seconds=30)).astimezone(clock.ZONE)
        row = [f"K{mark}", f"{at:%Y-%m-%d %H:%M:%S}", MORE, case.payment.network_key, f"Bado{mark}"]
        self._with_status(case, mark, tuple(f"{each} {mark}" for each in COLUMNS) if is_unknown else COLUMNS, row)
        return case

    def _with_status(self, case: Case, mark: str, columns: Sequence[str], row: Sequence[object]) -> None:
        case.layout, case.word = ("generic" if columns == COLUMNS else f"duka-{mark}"), f"Bado{mark}"
        case.file = self._folder / f"{mark}.csv"
        case.file.write_text("\n".join([",".join(columns), ",".join(map(str, row)), ""]))

    async def _declined(self, steps: PaymentSteps) -> Transaction:
        """A collection that its network has refused. (An aggregator carries it, as `statements fetch` needs.)"""
        opened = await steps.open(COLLECTION, MORE)
        await steps.claim(connector="clickpesa")
        ended = (await steps.report(opened, Verdict.REFUSED, AnswerSource.SEND)).transaction
        yesterday = "created_at = created_at - interval '1 day', processing_at = processing_at - interval '1 day'"
        async with self.database.begin() as tx:
            sql = f"UPDATE transactions SET {yesterday} WHERE merchant_id = $1 AND id = $2 RETURNING created_at"
            await tx.fetchval(sql, ended.merchant_id, ended.id)
        return ended

    async def _exception(self, case: Case, statements: Statements, mark: str) -> None:
        amount = {Act.BOOK_LINE: MORE, Act.NOTE: MORE, Act.BOOK_PAYOUT_LINE: -500}.get(case.act, 500)
        line = Entry(f"T{mark}", amount, clock.now(), "Payment")
        match case.act:
            case Act.MATCH_LINE:
                case.payment = await statements.steps.processing(COLLECTION, amount)
                line = line_of(case.payment, f"T{mark}", key="", phone="255754***001")
                case.choice, case.terms = "match", {"payment": case.payment.reference}
            case Act.ADOPT_LINE:
                case.choice, case.terms = "adopt", {"merchant": case.merchant_id, "phone": "+255754000001"}
            case Act.NOTE:
                case.choice = "note"
            case _:
                account = "suspense" if case.act is Act.BOOK_LINE else "losses"
                case.choice, case.terms = f"book:{account}", {"account": account}
        await statements.load(statements.write(line, name=f"{mark}.csv"))
        await statements.match()
        [found] = await statements.open_exceptions()
        case.exception_id = found.id

    async def _done_about_exception(self, case: Case, statements: Statements, mark: str) -> None:
        amount = 600 if case.act is Act.UNDO else MORE
        await statements.load(statements.write(Entry(f"T{mark}", amount, clock.now()), name=f"{mark}.csv"))
        await statements.match()
        [found] = await statements.open_exceptions()
        desk = ExceptionDesk(self.database, LIMIT)
        await desk.propose(found, Action.BOOK, {"account": "suspense"}, by=ASHA)
        if case.act is Act.UNDO_OF_TWO:
            await desk.approve(found, by=JUMA)
        case.exception_id = found.id

    async def _day(self, case: Case) -> None:
        """The next one that can be closed. With a difference, if that is to be accepted: as a bug would make it."""
        async with self.database.begin() as tx:
            last = await tx.fetchval("SELECT max(day) FROM day_closes")
            case.day = str(
                last + timedelta(days=1) if last else clock.day_of(clock.now()) - timedelta(days=FIRST_CLOSED)
            )
            if case.act is Act.CLOSE_WITH_DIFFERENCE:
                await tx.execute(
                    "UPDATE wallets SET available = available + 5 WHERE merchant_id = $1", case.merchant_id
                )

    async def _access(self, case: Case, mark: str, *, is_of_merchant: bool) -> None:
        """Somebody whom the act gives access, or takes it from."""
        case.name, case.email = f"neema.{mark}", f"neema+{mark}@example.com"
        now, operator_id = clock.now(), f"opr_{mark}"
        if case.act is Act.ADD_PERSON:
            return
        async with self.database.begin() as tx:
            key = await issue_api_keys.create_key(
                tx,
                case.merchant_id,
                KeyTerms(name="Till", permissions=tuple(Permission), environment=Environment.LIVE, brand="mlp"),
                actor=NOBODY,
                now=now,
            )
            case.key_id = key.id
            await operators.insert_operator(tx, operator_id, case.name, now=now)
            if case.act is Act.VOUCH and not is_of_merchant:
                await login.set_password(tx, case.name, cheap_hash(), actor=JUMA, now=now)
            person = await manage_people.add_person(
                tx, case.merchant_id, email=case.email, name="", role=Role.OWNER, actor=NOBODY, now=now
            )
            if case.act is Act.VOUCH and is_of_merchant:
                await password_links.make_link(tx, person, actor=JUMA, now=now)
        if case.act is Act.RESET_SECOND_FACTOR:
            await enrolled(self.database, person.id if is_of_merchant else operator_id, secret_key=SECRET_KEY)

    async def end(self, case: Case) -> None:
        """What all rows share is as it was."""
        async with self.database.begin() as tx:
            if case.act is Act.FENCE:
                await installation.end_fence(tx)
            if case.act in (Act.FENCE, Act.RELEASE, Act.RELEASE_SETTLEMENTS):
                await tx.execute(
                    "INSERT INTO settlement_releases SELECT epoch, now() FROM installation ON CONFLICT DO NOTHING"
                )
            if case.act is Act.CLOSE_WITH_DIFFERENCE:
                await tx.execute(
                    "UPDATE wallets SET available = available - 5 WHERE merchant_id = $1", case.merchant_id
                )
