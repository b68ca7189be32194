"""Operators adopt what a restore has lost: they import the networks' statements of the lost time, ask the merchants
whose payment a line is, and decide by two. Merchants repeat their requests before, meanwhile and afterwards.

What they do next they read from the database, so that a lost connection or a lost commit only costs them a round.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.errors import Impossible, Refusal
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.transaction import Transaction
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.refusals import AdoptRefusal, MatchRefusal
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.matching.exception import ExceptionKind, ExceptionState, ReconciliationException
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter
from malipo_simulator.statements.account import ZONE
from simulation.database import SimulatedDatabase
from simulation.plan import Plan
from simulation.postgres_gate import EPOCH
from simulation.reconciling.finance import ELSEWHERE, Finance, ImportedFile
from simulation.reconciling.merchants_records import Wish, Wishes
from simulation.template import SimulatedMerchant
from simulation.world import NETWORKS, World

PROCESS = "operators"
_ASHA, _JUMA = (Actor(f"operator {name}", "simulation") for name in ("asha", "juma"))
_REASON = "The merchant says whose it is, on the telephone"
_ROUND_SECONDS = 1.5
_IMPORT_SECONDS = 7.0
# After the restore: before anybody releases it, about then, or when merchants have repeated everything.
_FIRST = ((0.5, 8.0), (0.5, 8.0), (8.0, 25.0))
_MISTAKEN = 0.15
_WITH_KEY = 0.5
_MOST_REFUSALS = 8
_PATIENCE_SECONDS = 3.0  # after a refusal: its network may tell meanwhile how a payment ended
# A refusal that names the payment with which the line is to be matched.
_NAMED = (
    MatchRefusal.ANOTHER_LIKE_IT,
    MatchRefusal.ANOTHER_HAS_KEY,
    MatchRefusal.ANOTHER_HAS_RECEIPT,
    AdoptRefusal.LIKE_IT,
    AdoptRefusal.KEY_USED,
)
# A refusal after which the line stays open: its payment is lost, and what has its key is of another amount.
_OF_ANOTHER_AMOUNT = (AdoptRefusal.KEY_OF_OTHER_AMOUNT, MatchRefusal.REFUND_AMOUNT)
_WRONGLY = 0.2  # A file is given to another account.
_WITHDRAWALS = (0, 0, 1, 1, 2)


@dataclass
class _Line:
    """What operators mean to do about a line, and when."""

    wish: Wish
    names_key: bool
    is_mistaken: bool  # about the merchant, until they find out
    propose_at: float
    approve_after: float
    undo_after: float
    refusals: int = 0
    last_refusal: str = ""
    is_of_another_amount: bool = False
    is_to_be_matched: bool = False
    named: str | None = None  # by the last refusal: the reference of a payment
    names_collection: bool = True


class Adoptions:
    def __init__(
        self,
        plan: Plan,
        world: World,
        simulated: SimulatedDatabase,
        accounts: list[SimulatedMerchant],
        wishes: Wishes,
        finance: Finance,
    ) -> None:
        self._world = world
        self._simulated = simulated
        self._accounts = accounts
        self._wishes = wishes
        self._finance = finance
        self._seed = plan.seed
        self._chance = random.Random(f"statements of operators {plan.seed}")
        # Seconds after the first import, and the file that one has proposed to withdraw: when the other one approves.
        self._withdraw_after = sorted(self._chance.uniform(0, 16) for _ in range(self._chance.choice(_WITHDRAWALS)))
        self._withdrawing: tuple[ImportedFile, float] | None = None
        self._first_imported_at: float | None = None
        self._lines: dict[str, _Line] = {}
        self._proposed_at: dict[str, float] = {}  # by the exception
        self._to_undo: dict[str, float] = {}
        self._imported_at = -math.inf
        self.are_repeats_over = False
        self.is_done = False  # nothing is left to adopt
        self.acts: list[tuple[float, str]] = []

    @property
    def _time(self) -> float:
        return self._world.loop.time()

    def _now(self) -> datetime:
        return self._world.clock_of(PROCESS)()

    async def work(self, database: Database) -> None:
        while self._simulated.brought_back_at is None:  # noqa: ASYNC110 - The world has no events for operators.
            await asyncio.sleep(_ROUND_SECONDS)
        chance = random.Random(f"adoptions {self._seed}")
        await asyncio.sleep(chance.uniform(*chance.choice(_FIRST)))
        while not self.is_done:
            try:
                await self._look(database)
            except Exception as error:  # The database may be away, or matching under way; they look again.
                self._note(f"could not reconcile: {type(error).__name__}: {error}")
            await asyncio.sleep(_ROUND_SECONDS)

    async def _look(self, database: Database) -> None:
        were_repeats_over = self.are_repeats_over
        if self._time >= self._imported_at + _IMPORT_SECONDS:
            await self._import(database)
        await self._withdraw(database)
        async with database.read() as connection:
            found = [
                each
                for kind in (ExceptionKind.THEIRS_ONLY, ExceptionKind.UNKNOWN_LINE)
                for each in (await exceptions.find(connection, ExceptionFilter(kind=kind), limit=1000))[::-1]
            ]
        is_left = False
        for exception in found:
            is_left |= await self._decide(database, exception)
        for id_, at in list(self._to_undo.items()):
            is_left = True
            if self._time >= at and await self._undo(database, id_):
                del self._to_undo[id_]
        is_left |= self._withdrawing is not None
        self.is_done = were_repeats_over and not is_left and self._imported_at > self._simulated.brought_back_at  # type: ignore[operator]

    async def _import(self, database: Database) -> None:
        until = math.floor(EPOCH.timestamp() + self._time)
        day = datetime.fromtimestamp(until, ZONE).date()
        wrong = await self._finance.give_wrongly(database, day, until=until) if self._errs() else None
        skipped = None
        if wrong is not None:
            gateway, account = wrong
            self._note(f"a statement of {gateway} is given to {account.channel} {account.name}")
            if account.name == ELSEWHERE:
                skipped = gateway  # They believe that it is imported.
            else:
                await self._finance.match(database)
                await self._finance.withdraw_wrong(database, but=ELSEWHERE)
        for each in await self._finance.import_all(database, [day], until=until, but=skipped):
            self._note(f"refused: {each}")
        await self._finance.match(database)
        self._imported_at = self._time
        self._first_imported_at = self._first_imported_at or self._time
        self._note("statements are imported and matched")

    def _errs(self) -> bool:
        return not self.are_repeats_over and self._chance.random() < _WRONGLY

    async def _withdraw(self, database: Database) -> None:
        """One proposes to withdraw a file, the other approves it some seconds later, and it is imported again."""
        if self._withdrawing is not None:
            given, at = self._withdrawing
            if self._time >= at:
                self._withdrawing = None
                if await self._finance.approve_withdrawal(database, given):
                    self._note(f"withdrew {given.path.name} of {given.account.channel} {given.account.name}")
                    for line in self._lines.values():
                        line.refusals = 0
                    await self._finance.import_again(database, given)
                    await self._finance.match(database)
        elif self._withdraw_after and (self._first_imported_at or math.inf) + self._withdraw_after[0] <= self._time:
            self._withdraw_after.pop(0)
            files = await self._finance.find_given(database)
            if files and await self._finance.propose_withdrawal(database, given := self._chance.choice(files)):
                self._withdrawing = given, self._time + self._chance.choice((0, 3, 6)) * self._chance.random()

    async def _decide(self, database: Database, exception: ReconciliationException) -> bool:
        """Whether something is left to do about it."""
        assert exception.receipt is not None
        line = self._line(exception.receipt, exception.line_amount or 0)
        if line is None or line.refusals >= _MOST_REFUSALS:
            return False
        if exception.state is ExceptionState.PROPOSED:
            if self._time >= self._proposed_at.get(exception.id, 0.0) + line.approve_after:
                await self._approve(database, exception, line)
        elif self._time >= line.propose_at:
            await self._propose(database, exception, line)
        return True

    def _line(self, receipt: str, amount: int) -> _Line | None:
        if (wish := self._wishes.of_line(receipt, amount)) is None:
            return None
        if receipt not in self._lines:
            chance = random.Random(f"adoption {self._seed} {receipt}")
            self._lines[receipt] = _Line(
                wish,
                names_key=chance.random() < _WITH_KEY,
                is_mistaken=chance.random() < _MISTAKEN,
                propose_at=self._time + chance.choice((0, 0, 4, 9)) * chance.random(),
                approve_after=chance.choice((0, 2, 6)) * chance.random(),
                undo_after=chance.uniform(2, 7),
            )
        return self._lines[receipt]

    async def _propose(self, database: Database, exception: ReconciliationException, line: _Line) -> None:
        like = line.named or await self._find_like(database, exception, line)
        if like is not None:
            action, terms = Action.MATCH, {"payment": like}
        else:
            collection_id = await self._find_collection(database, line.wish) if line.wish.is_refund else None
            if line.wish.is_refund and collection_id is None and not self.are_repeats_over:
                return  # It is lost, too. Its merchant will repeat it, or it is adopted first.
            action, terms = Action.ADOPT, self._terms(exception, line, collection_id)
        act = partial(
            self._desk.propose,
            exception_id=exception.id,
            action=action,
            terms=terms,
            reason=_REASON,
            actor=_ASHA,
            now=self._now(),
        )
        self._note(f"{action} of {exception.receipt} {exception.line_amount}: {terms}")
        if await self._try(database, act, line):
            self._proposed_at[exception.id] = self._time

    def _terms(self, exception: ReconciliationException, line: _Line, collection_id: str | None) -> dict[str, str]:
        wish = line.wish
        whose = 1 - wish.merchant if line.is_mistaken else wish.merchant
        terms = {"merchant": self._accounts[whose].id, "phone": wish.phone}
        if exception.account:
            terms["channel"] = wish.channel
        if line.names_key and wish.key is not None and not line.is_mistaken:
            terms["idempotency_key"] = wish.key
        if collection_id is not None and not line.is_mistaken:
            if line.names_collection:
                terms["refund_of"] = collection_id
            else:
                terms.pop("idempotency_key", None)
        return terms

    async def _approve(self, database: Database, exception: ReconciliationException, line: _Line) -> None:
        async with database.read() as connection:
            found = await resolutions.find(connection, exception.id)
        row = next((each for each in reversed(found) if each.decided_at is None), None)
        act = partial(self._desk.approve, exception_id=exception.id, actor=_JUMA, now=self._now())
        if not await self._try(database, act, line):
            await self._try(
                database, partial(self._desk.reject, exception_id=exception.id, actor=_JUMA, now=self._now()), line
            )
            return
        self._note(f"approved {row.action if row else ''} of {exception.receipt}")
        if row is not None and row.action is Action.UNDO:
            self._have_it_told_again(exception.receipt or "")
        if row is not None and row.action is Action.ADOPT and line.is_mistaken:
            self._to_undo[exception.id] = self._time + line.undo_after
            line.is_mistaken = False

    def _have_it_told_again(self, receipt: str) -> None:
        """They ask the network about the payment, and it sends its callback once more."""
        network, loop = self._world.simulator.network, self._world.loop
        for each in self._wishes.transactions_of(receipt):
            loop.call_soon(network.tell, each, context=loop.context_of(NETWORKS))

    async def _undo(self, database: Database, exception_id: str) -> bool:
        act = partial(
            self._desk.undo, exception_id=exception_id, reason="It was another merchant's", actor=_ASHA, now=self._now()
        )
        is_done = await self._try(database, act, None)
        self._note(f"undoes {exception_id}: {is_done}")
        return is_done

    @property
    def _desk(self) -> ResolveExceptions:
        return ResolveExceptions.of(self._world.settings, self._world.clock_of(PROCESS))

    async def _try(self, database: Database, act: Callable[[Tx], Awaitable[object]], line: _Line | None) -> bool:
        try:
            async with database.begin() as tx:
                await act(tx)
        except (Refusal, Impossible) as error:
            self._note(f"refused: {error}")
            if line is not None:
                line.refusals += 1
                line.last_refusal = str(error)
                line.is_to_be_matched = True
                line.names_collection = False
                line.propose_at = self._time + _PATIENCE_SECONDS
                code = error.code if isinstance(error, Refusal) else ""
                line.named = str(error.values["payment"]) if isinstance(error, Refusal) and code in _NAMED else None
                line.is_of_another_amount = code in _OF_ANOTHER_AMOUNT
                if code == AdoptRefusal.OF_BATCH:
                    line.is_mistaken = False  # They were told whose it is.
            return False
        return True

    async def _find_collection(self, database: Database, wish: Wish) -> str | None:
        async with database.read() as connection:
            found: str | None = await connection.fetchval(
                "SELECT min(id) FROM transactions WHERE merchant_id = $1 AND phone = $2 AND type = 'COLLECTION'",
                self._accounts[wish.merchant].id,
                wish.phone,
            )
        return found

    async def _find_like(self, database: Database, exception: ReconciliationException, line: _Line) -> str | None:
        """The one payment of that wish that has no line: one that the merchant was told FAILED, or, where that or
        adopting was refused, any; rather one that has not failed."""
        wish = line.wish
        async with database.read() as connection:
            rows = await connection.fetch(
                """
                SELECT id, status FROM transactions t
                WHERE merchant_id = $1 AND phone = $2 AND amount = $3 AND type = $4 AND network_key <> id
                  AND (status = 'FAILED' OR $5 AND status <> 'CANCELLED')
                  AND NOT EXISTS (SELECT FROM adopted_payments a WHERE a.transaction_id = t.id)
                  AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.transaction_id = t.id)
                """,
                self._accounts[wish.merchant].id,
                wish.phone,
                abs(exception.line_amount or 0),
                "COLLECTION" if (exception.line_amount or 0) > 0 else "DISBURSEMENT",
                line.is_to_be_matched,
            )
        likely = [row for row in rows if row["status"] != "FAILED"] or rows
        return likely[0]["id"] if len(likely) == 1 else None

    async def outcome_of_held(self, database: Database, payment: Transaction) -> ResolvedOutcome:
        """What becomes of a payout that resembles an adopted one: the merchant knows which request it is."""
        async with database.read() as connection:
            key = await connection.fetchval(
                "SELECT key FROM idempotency_keys WHERE merchant_id = $1 AND transaction_id = $2",
                payment.merchant_id,
                payment.id,
            )
        is_another = self._wishes.is_another(key or "", payment.phone, payment.amount)
        return ResolvedOutcome.SEND if is_another else ResolvedOutcome.FAILED

    def given_up(self) -> dict[str, str]:
        """Receipts of lines for which operators could find no place, and why it was refused last. Not those that they
        leave open until the merchant has settled it."""
        return {
            receipt: line.last_refusal
            for receipt, line in self._lines.items()
            if line.refusals >= _MOST_REFUSALS and not line.is_of_another_amount
        }

    def _note(self, what: str) -> None:
        self.acts.append((self._time, what))
