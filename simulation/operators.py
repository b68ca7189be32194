"""Operators: two people who look at what the service lists, compare it with the networks' statements, and decide.

They know the networks' book, as operators who download statements do. Now and then one is mistaken.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.errors import Impossible, Refusal
from malipo.merchants import onboard
from malipo.networks.connector import Channel, Type
from malipo.payments.after_restore import release
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome, resembles_adopted
from malipo.payments.fees import Band
from malipo.payments.store import cases, tariffs
from malipo.payments.store.cases import Case
from malipo.payments.transaction import Transaction
from malipo.payments.transaction import Type as PaymentType
from malipo.restore import hold
from malipo.restore.store import installation
from malipo.settings import Settings
from simulation.networks_book import Book, net
from simulation.plan import Fault
from simulation.reconciling.adoptions import PROCESS, Adoptions
from simulation.template import SimulatedMerchant
from simulation.world import World

EVIDENCE = "The statement of the network for this day"
_ASHA, _JUMA = (Actor(f"operator {name}", "simulation") for name in ("asha", "juma"))
_LOOK_SECONDS = 6.0
_FOLLOW_UP_SECONDS = 10.0
_FIRST_LOOK_SECONDS = 8.0
_RELEASE_SECONDS = 4.0  # after the fence


class Operators:
    def __init__(self, world: World, accounts: list[SimulatedMerchant], book: Book, adoptions: Adoptions) -> None:
        self._world = world
        self._accounts = accounts
        self._book = book
        self.adoptions = adoptions
        self._database = Database(world.url, size=2)
        self._closed: set[str] = set()  # merchants who are to be closed now
        self.is_mistaken_next = False
        self.mistaken: set[str] = set()  # payments that were resolved against the book
        self.ended: set[str] = set()  # payments that had not ended when they decided
        self.repeats: set[str] = set()  # held payouts that were repeats of adopted ones, and so ended as FAILED
        self.acts: list[tuple[float, str]] = []  # when, and what
        self.is_lost_time_compared = False  # What merchants were told in it, they have sent again.
        self._is_holding = False  # as they mean it; a restored database may think otherwise
        self._refusal = ""  # of the last act
        self.held: list[tuple[float, float]] = []  # from when to when all payments were held

    async def open(self) -> None:
        await self._database.open()

    async def adopt(self) -> None:
        await self.adoptions.work(self._database)

    async def work(self) -> None:
        await asyncio.sleep(_FIRST_LOOK_SECONDS)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._look()
            except Exception as error:  # The database may be away; they look again.
                self._note(f"could not look: {type(error).__name__}: {error}")

    async def _look(self) -> None:
        async with self._database.read() as connection:
            standing = await installation.get(connection)
            listed = await cases.find_unsettled(
                connection, unsettled_seconds=self._world.settings.unsettled_seconds
            ) + await cases.find_contradicted(connection)
        for case in listed:
            await self._decide(case)
        await self._reopen_merchants()
        if standing.held_at is not None and not self._is_holding:
            await self._end_hold()
        if standing.is_fenced and standing.fenced_at is not None:
            if (self._now() - standing.fenced_at).total_seconds() >= _RELEASE_SECONDS:
                await self._release(None)
        elif standing.epoch > 1 and self.is_lost_time_compared:
            await self._release_channels()

    async def _release_channels(self) -> None:
        """Where nobody can ask the network, what waits is compared with its statement first, one by one."""
        async with self._database.read() as connection:
            rows = await connection.fetch(
                """
                SELECT d.channel, d.type, t.network_key, d.attention IS NOT NULL AS is_listed
                FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
                WHERE d.is_asked_first AND d.attention IS DISTINCT FROM 'resembles_adopted' ORDER BY t.id
                """
            )
        for scope in dict.fromkeys((row["channel"], row["type"]) for row in rows if row["is_listed"]):
            waiting = [row["network_key"] for row in rows if (row["channel"], row["type"]) == scope]
            if all(self._book.is_paid(key, scope[0]) is False for key in waiting):
                await self._release(scope)

    async def _decide(self, case: Case) -> None:
        transaction = case.transaction
        if resembles_adopted(case):
            self.ended.add(transaction.id)
            outcome = await self.adoptions.outcome_of_held(self._database, transaction)
            if outcome is ResolvedOutcome.FAILED:
                self.repeats.add(transaction.id)
            await self._resolve(transaction.id, OperatorFinding(outcome=outcome, evidence=EVIDENCE))
            return
        is_paid = await self._is_paid(transaction)
        if is_paid is None or transaction.id in self.mistaken:
            return
        if not transaction.status.is_final:
            self.ended.add(transaction.id)
        if self.is_mistaken_next and not transaction.status.is_final:
            self.is_mistaken_next = False
            self.mistaken.add(transaction.id)
            is_paid = not is_paid
        finding = OperatorFinding(
            outcome=ResolvedOutcome.COMPLETED if is_paid else ResolvedOutcome.FAILED,
            evidence=EVIDENCE,
            is_despite_waiting=not is_paid,
        )
        if await self._resolve(transaction.id, finding) == str(resolve.ResemblesAdopted()):
            # Its line is that of an adopted collection: it is a repeat.
            self.repeats.add(transaction.id)
            failed = OperatorFinding(outcome=ResolvedOutcome.FAILED, evidence=EVIDENCE)
            await self._resolve(transaction.id, failed)

    async def _is_paid(self, transaction: Transaction) -> bool | None:
        """By the line that operators gave it, if they did; one whose adoption was undone has none."""
        async with self._database.read() as connection:
            row = await connection.fetchrow(
                """
                SELECT a.undone_at IS NOT NULL AS is_undone, coalesce(l.receipt, t.provider_reference, '') AS receipt
                FROM transactions t
                LEFT JOIN adopted_payments a ON a.merchant_id = t.merchant_id AND a.transaction_id = t.id
                LEFT JOIN statement_matches s ON s.merchant_id = t.merchant_id AND s.transaction_id = t.id
                  AND s.role = 'payment' AND s.how = 'operator'
                LEFT JOIN statement_lines l ON l.id = s.line_id
                WHERE t.merchant_id = $1 AND t.id = $2 AND coalesce(a.line_id, l.id) IS NOT NULL
                """,
                transaction.merchant_id,
                transaction.id,
            )
        if row is None:
            is_paid = self._book.is_paid(transaction.network_key, transaction.channel)
            # Under the key of a refund that was lost, another amount may have been paid. They leave that open.
            is_other = is_paid and self._book.moved(transaction.network_key) != transaction.amount
            return None if is_other else is_paid
        return not row["is_undone"] and net(self._book.of_receipt(row["receipt"])) > 0

    async def _resolve(self, id_: str, finding: OperatorFinding) -> str:
        """Why it was refused, if it was."""
        self._refusal = ""
        self._note(f"{id_} is {finding.outcome}")

        async def propose(tx: Tx) -> object:
            return await resolve.propose(
                tx,
                id_,
                finding,
                actor=_ASHA,
                approval_amount=Settings().booking_approval_amount,
                now=self._now(),
                follow_up_seconds=10,
            )

        async def approve(tx: Tx) -> object:
            return await resolve.approve(tx, id_, actor=_JUMA, now=self._now(), follow_up_seconds=_FOLLOW_UP_SECONDS)

        resolved: Any = await self._try(propose)
        if resolved is not None and not resolved.is_done:
            await self._try(approve)
        return self._refusal

    async def _reopen_merchants(self) -> None:
        """A restored database may call a merchant closed who was opened again since."""
        async with self._database.read() as connection:
            rows = await connection.fetch("SELECT id FROM merchants WHERE NOT is_active ORDER BY id")
        for row in rows:
            if row["id"] not in self._closed:
                await self._try(partial(self._set_active, merchant_id=row["id"], is_active=True))

    async def _release(self, scope: tuple[str, str] | None) -> None:
        for actor in (_ASHA, _JUMA):
            await self._try(partial(release.release, evidence=EVIDENCE, scope=scope, actor=actor, now=self._now()))
        self._note(f"released {scope or 'the installation'}")

    async def _try(self, act: Callable[[Tx], Awaitable[object]]) -> object:
        try:
            async with self._database.begin() as tx:
                return await act(tx)
        except (Refusal, Impossible) as error:
            self._note(f"refused: {error}")
            self._refusal = str(error)
            return None

    def interfere(self, fault: Fault) -> None:
        """What operators do to merchants and to the whole, and take back after a while."""
        self._world.loop.start(PROCESS, self._interfere(fault))

    async def _interfere(self, fault: Fault) -> None:
        if fault.kind == "hold":
            await self._hold(fault.seconds)
            return
        merchant_id = self._accounts[int(fault.target)].id
        if fault.kind == "merchant-closed":
            self._closed.add(merchant_id)
            await self._insist(lambda tx: self._set_active(tx, merchant_id, is_active=False))
            await asyncio.sleep(fault.seconds)
            self._closed.discard(merchant_id)
            await self._insist(lambda tx: self._set_active(tx, merchant_id, is_active=True))
        else:
            await self._insist(lambda tx: self._change_tariff(tx, merchant_id))

    async def _hold(self, seconds: float) -> None:
        self._is_holding = True
        await self._insist(lambda tx: hold.hold(tx, (), "The simulation", actor=_ASHA, now=self._now()))
        begin = self._world.loop.time()
        await asyncio.sleep(seconds)
        self.held.append((begin, self._world.loop.time()))
        self._is_holding = False
        await self._end_hold()

    async def _end_hold(self) -> None:
        await self._insist(lambda tx: hold.end(tx, (), actor=_ASHA, now=self._now()))

    async def _set_active(self, tx: Tx, merchant_id: str, *, is_active: bool) -> None:
        await onboard.set_active(tx, merchant_id, is_active=is_active, actor=_ASHA, now=self._now())

    async def _change_tariff(self, tx: Tx, merchant_id: str) -> None:
        for type_ in Type:
            for channel in Channel:
                await tariffs.replace(tx, merchant_id, PaymentType(type_), channel, [Band(500, fixed_fee=250)])

    async def _insist(self, act: Callable[[Tx], Awaitable[object]]) -> None:
        for _ in range(30):
            try:
                await self._try(act)
            except Exception:
                await asyncio.sleep(1)
            else:
                return

    def _note(self, what: str) -> None:
        self.acts.append((self._world.loop.time(), what))

    def _now(self) -> datetime:
        return self._world.clock_of(PROCESS)()
