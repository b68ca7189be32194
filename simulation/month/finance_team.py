"""Two operators of the company: they import the networks' statements, decide what is left open, and close the days."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from malipo import clock
from malipo.approvals import booking_approval
from malipo.audit_log.actor import operator_at
from malipo.db import Database, Tx
from malipo.encryption import Encryption
from malipo.errors import Impossible, Refusal
from malipo.ledger.bookings import Booking, BookingKind
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import QueryRules
from malipo.payments.store import cases
from malipo.reconciliation.close import close_day
from malipo.reconciliation.close.close_day import DayDoesNotAddUp
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.exception import ExceptionKind, ExceptionState, ReconciliationException
from malipo.reconciliation.matching.match_statements import match_statements
from malipo.reconciliation.matching.report_evidence import approve_import
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter
from malipo.settings import Settings
from simulation.month.network_book import NetworkAccount
from simulation.month.shops import Shops

ASHA, JUMA = (operator_at(name, "month") for name in ("asha", "juma"))
APPROVAL_AMOUNT = 100_000
_WHY = "By the network's statement, and by telephone with the merchant"


class FinanceTeam:
    def __init__(
        self,
        settings: Settings,
        encryption: Encryption,
        accounts: Mapping[Channel, NetworkAccount],
        shops: Shops,
        folder: Path,
    ) -> None:
        self._settings = settings
        self._encryption = encryption
        self._accounts = accounts
        self._shops = shops
        self._folder = folder
        self._imported = 0
        self._settled: set[str] = set()
        self.acts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.accepted: list[date] = []  # days that two have closed with a difference

    async def import_statements(self, database: Database, day: date, *, until: datetime | None = None) -> None:
        for account in self._accounts.values():
            self._imported += 1
            path = account.statement(day, self._folder, self._imported, until=until)
            request = StatementImport(
                path, channel=account.channel, account="", profile=built_in()["generic"], is_new_account=True
            )
            async with database.begin() as tx:
                await import_statement(tx, request, actor=ASHA, now=clock.now())
            self.acts["statements imported"] += 1
        apply_answers = ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(self._settings))
        await match_statements(database, apply_answers, approval_amount=APPROVAL_AMOUNT, clock=clock.now)
        async with database.begin() as tx:
            waiting = await import_approval.find_open(tx)
        for each in waiting:
            async with database.begin() as tx:
                await approve_import(tx, apply_answers, each.proposal.subject, actor=JUMA, now=clock.now())
            self.acts["imports approved"] += 1

    # What statements leave open.

    async def decide_all(self, database: Database) -> None:
        for _ in range(3):  # What one decision leaves open, the next one ends.
            async with database.read() as connection:
                found = await exceptions.find(connection, ExceptionFilter(), limit=10_000)
                contradicted = await cases.find_contradicted(connection)
            if not found and not contradicted:
                return
            for each in reversed(found):
                if each.kind is not ExceptionKind.OURS_ONLY or not await self._is_on_its_way(database, each):
                    await self._decide(database, each)
            for case in (each for each in contradicted if each.transaction.id not in self._settled):
                await self._decide_case(database, case.transaction.id, case.transaction.network_key)

    async def _is_on_its_way(self, database: Database, exception: ReconciliationException) -> bool:
        """Whether its network says, when they ask, that it has the payment: then the next statement has its line."""
        async with database.read() as connection:
            key = await connection.fetchval(
                "SELECT network_key FROM transactions WHERE merchant_id = $1 AND id = $2",
                exception.merchant_id,
                exception.transaction_id,
            )
        return key in self._accounts[exception.channel].paid

    async def _decide(self, database: Database, exception: ReconciliationException) -> None:
        action, terms = self._action(exception)
        desk = ResolveExceptions.of(self._settings, clock.now)
        id_ = exception.id
        proposed = await self._try(
            database,
            f"{exception.kind}: {action}",
            lambda tx: desk.propose(tx, id_, action, terms, reason=_WHY, actor=ASHA, now=clock.now()),
        )
        if proposed is not None and proposed.state is ExceptionState.PROPOSED:
            approve = lambda tx: desk.approve(tx, id_, actor=JUMA, now=clock.now())  # noqa: E731
            if await self._try(database, "approved", approve) is None:
                await self._try(database, "rejected", lambda tx: desk.reject(tx, id_, actor=JUMA, now=clock.now()))

    def _action(self, exception: ReconciliationException) -> tuple[Action, dict[str, str]]:
        match exception.kind:
            case ExceptionKind.OURS_ONLY:
                return Action.RESOLVE, {"outcome": ResolvedOutcome.FAILED}
            case ExceptionKind.STATE_DIFFERS:
                outcome = ResolvedOutcome.FAILED if exception.line_kind == "reversal" else ResolvedOutcome.COMPLETED
                return Action.RESOLVE, {"outcome": outcome}
            case ExceptionKind.FEE_DIFFERS:
                return Action.NOTE, {}
            case ExceptionKind.THEIRS_ONLY if exception.key and exception.phone in self._shops.phones:
                # Its payment is lost, since the database was restored.
                terms = {"merchant": self._shops.phones[exception.phone], "phone": exception.phone}
                if (asked := self._shops.by_key.get(exception.key)) is not None and asked.key is not None:
                    terms["idempotency_key"] = asked.key
                return Action.ADOPT, terms
        return Action.BOOK, {"account": "suspense"}

    async def _decide_case(self, database: Database, payment: str, key: str) -> None:
        """The network has contradicted itself: what its book says is what has happened."""
        account = next((each for each in self._accounts.values() if key in each.paid), None)
        is_paid = account is not None and not any(each.linked == account.paid[key].receipt for each in account.lines)
        outcome = ResolvedOutcome.COMPLETED if is_paid else ResolvedOutcome.FAILED
        finding = OperatorFinding(outcome, _WHY, is_waived=True)
        resolved: Any = await self._try(
            database,
            f"case: {outcome}",
            lambda tx: resolve.propose(tx, payment, finding, actor=ASHA, approval_amount=1, now=clock.now()),
        )
        if resolved is None:
            self._settled.add(payment)  # Nobody owes anything: there is nothing to decide.
        elif not resolved.is_done:
            await self._try(
                database,
                "case approved",
                lambda tx: resolve.approve(tx, payment, actor=JUMA, now=clock.now()),
            )

    async def release(self, database: Database, booking_id: str, merchant_id: str, amount: int, reference: str) -> None:
        """Money in suspense turned out to be a merchant's."""
        await self.book(database, Booking(BookingKind.SUSPENSE_RELEASE, merchant_id, amount, reference, booking_id))

    async def book(self, database: Database, booking: Any) -> None:
        """One asks for it; another approves it, where that is needed."""
        async with database.begin() as tx:
            requested = await booking_approval.request(
                tx, booking, approval_amount=APPROVAL_AMOUNT, actor=ASHA, now=clock.now()
            )
        if requested.proposal is not None:
            proposal = requested.proposal
            async with database.begin() as tx:
                await booking_approval.approve(tx, proposal.id, actor=JUMA, now=clock.now())
        self.acts[f"booked {booking.kind}"] += 1

    # The close.

    async def close(self, database: Database, day: date) -> None:
        terms: dict[str, Any] = {"encryption": self._encryption, "now": clock.now()}
        try:
            async with database.begin() as tx:
                await close_day.close_day(tx, day, actor=ASHA, **terms)
        except DayDoesNotAddUp:
            async with database.begin() as tx:
                await close_day.close_day(tx, day, actor=ASHA, accepts_difference=True, reason=_WHY, **terms)
            async with database.begin() as tx:
                await close_day.approve(tx, day, actor=JUMA, **terms)
            self.accepted.append(day)
        self.acts["days closed"] += 1

    async def _try(self, database: Database, what: str, act: Callable[[Tx], Awaitable[Any]]) -> Any:
        try:
            async with database.begin() as tx:
                done = await act(tx)
        except (Refusal, Impossible) as error:
            self.refusals[f"{what}: {getattr(error, 'code', '') or error}"] += 1
            return None
        self.acts[what] += 1
        return done
