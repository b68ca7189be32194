"""The core of the simulated networks: accepts payments, prompts phones, decides, and moves money, by `behaviour.py`.

It schedules what is due and decides the outcome. Parsing requests and formatting results is done by the gateways,
sending callbacks by the callback sender.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from malipo_simulator import randomness
from malipo_simulator.behaviour import Answering, Outcome, PaymentKind, plan_of
from malipo_simulator.control import Control
from malipo_simulator.gateways.gateway import Notice
from malipo_simulator.journal import Journal
from malipo_simulator.state import State
from malipo_simulator.transaction import (
    Decided,
    Event,
    GatewayName,
    PromptState,
    Registered,
    Taken,
    Told,
    Transaction,
    Transferred,
)

# A request that is held for a decision that never comes is released at last.
_HOLD_SECONDS = 150

_PROMPT_AFTER = {Outcome.DECLINED: PromptState.DECLINED, Outcome.EXPIRED: PromptState.EXPIRED}


class AlreadyAnswered(Exception):  # noqa: N818
    """The prompt is no longer waiting."""


class Ask(msgspec.Struct, gc=False):
    """A payment as a gateway has understood it."""

    gateway: GatewayName
    channel: str
    kind: PaymentKind
    phone: str
    amount: int
    reference: str
    network_id: str
    receipt: str
    note: str
    is_opening_due: bool = False


class Network:
    def __init__(self, control: Control, journal: Journal | None, now: Callable[[], float]) -> None:
        self.control = control
        self.memory = State()
        self.now = now
        self.tell: Callable[[Transaction], None] = lambda transaction: None
        self.tell_opening: Callable[[Transaction], None] = lambda transaction: None
        self.tell_aside: Callable[[Transaction, Notice], None] = lambda transaction, notice: None
        self._journal = journal
        self.timers: dict[str, asyncio.TimerHandle] = {}
        self._until_decided: dict[str, asyncio.Future[None]] = {}
        self._until_told: dict[str, asyncio.Future[None]] = {}

    def resume(self) -> None:
        """Read the journal, and continue what was under way."""
        for event in self._journal.replay() if self._journal else ():
            self.memory.apply(event)
        for transaction in list(self.memory.by_id.values()):
            self._wait(transaction)
            if transaction.is_opening_due:
                self.tell_opening(transaction)
            if transaction.outcome is not None and not transaction.is_told:
                self.tell(transaction)

    def reset(self) -> None:
        """Reset all transactions and all switches."""
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        self.let_go()
        if self._journal:
            self._journal.clear()
        self.memory = State()
        self.control.reset()

    def change_control(self, patch: Any) -> None:
        """All of it, or nothing and BadSwitches. An outcome that turns into another one does so at the new speed."""
        speed = self.control.speed
        self.control.change(patch)
        for id_ in list(self.timers) if self.control.speed != speed else ():
            if (transaction := self.memory.by_id[id_]).outcome is not None:
                self.timers.pop(id_).cancel()
                self._wait(transaction)

    def let_go(self) -> None:
        """Release requests that are held for a decision, without an answer."""
        for waiters in (self._until_decided, self._until_told):
            for future in waiters.values():
                future.cancel()
            waiters.clear()

    def register(self, urls: dict[GatewayName, str]) -> None:
        self._record(Registered(urls))

    def transfer(self, gateway: GatewayName, amount: int, reference: str) -> Transferred:
        """Move money between the merchant's account and its bank."""
        receipt = f"BT{len(self.memory.transfers) + 1:06}"
        event = Transferred(gateway=gateway, amount=amount, reference=reference, receipt=receipt, at=self.now())
        self._record(event)
        return event

    def find(self, gateway: GatewayName, reference: str) -> Transaction | None:
        return self.memory.by_reference[gateway].get(reference)

    def is_repeat(self, earlier: Transaction | None) -> bool:
        """Whether a payment of the same name is refused for it. Some networks forget in time, and pay again."""
        if earlier is None:
            return False
        forget_seconds = self.control.switches[earlier.gateway].forget_seconds / self.control.speed
        return not forget_seconds or self.now() < earlier.taken_at + forget_seconds

    def look(self, transaction: Transaction | None) -> Transaction | None:
        """What a query finds, which is not always all there is."""
        if transaction is None:
            return None
        transaction.queries += 1
        if transaction.queries <= plan_of(transaction.kind, transaction.phone).queries_not_found:
            return None
        hidden_seconds = self.control.switches[transaction.gateway].not_found_seconds / self.control.speed
        return None if self.now() < transaction.taken_at + hidden_seconds else transaction

    def take(self, ask: Ask, *, is_reply_final: bool) -> Transaction:
        """A payment that the network accepts, or refuses at once. It is booked when this returns."""
        plan = plan_of(ask.kind, ask.phone)
        now = self.now()
        is_prompted = ask.kind is PaymentKind.COLLECTION and plan.is_prompted
        transaction = Transaction(
            **msgspec.structs.asdict(ask),
            id=randomness.token_hex(8),
            merchant=self.control.switches[ask.gateway].merchant,
            taken_at=now,
            due_at=None if plan.outcome is None else now + plan.after_seconds / self.control.speed,
            callbacks=plan.callbacks if plan.is_told_beside_reply or not is_reply_final else 0,
            prompt=PromptState.WAITING if is_prompted else None,
            tell_at=self._tell_at(ask.gateway),
        )
        self._record(Taken(transaction))
        if transaction.is_opening_due:
            self.tell_opening(transaction)
        if plan.outcome is not None and plan.after_seconds == 0:
            # Its callback is sent in the next iteration of the event loop, after the reply.
            self._finish(transaction)
        else:
            self._wait(transaction)
        return transaction

    async def may_reply(self, transaction: Transaction, *, is_final: bool) -> bool:
        """Return when the reply is due; False if it is to be lost."""
        answering = plan_of(transaction.kind, transaction.phone).answering
        if answering is Answering.LOST:
            return False
        if answering is Answering.AFTER_CALLBACK:
            return await self._hold(self._until_told, transaction)
        if transaction.outcome is None and (is_final or answering is Answering.WHEN_DECIDED):
            return await self._hold(self._until_decided, transaction)
        return True

    async def _hold(self, waiters: dict[str, asyncio.Future[None]], transaction: Transaction) -> bool:
        """Keep the connection open, up to a limit. False if it was released."""
        future = waiters.setdefault(transaction.id, asyncio.get_running_loop().create_future())
        await asyncio.wait((future,), timeout=_HOLD_SECONDS / self.control.speed)
        return not future.cancelled()

    def told(self, transaction: Transaction, *, is_opening: bool = False) -> None:
        """All callbacks were delivered, or have used up their retries."""
        if self.memory.by_id.get(transaction.id) is not transaction:
            return
        self._record(Told(transaction.id, is_opening))
        if is_opening:
            return
        if future := self._until_told.pop(transaction.id, None):
            future.set_result(None)

    def answer(self, transaction: Transaction, *, is_approved: bool) -> None:
        """A person at the phone has answered."""
        if transaction.prompt is not PromptState.WAITING:
            raise AlreadyAnswered
        plan = plan_of(transaction.kind, transaction.phone)
        self._decide(transaction, plan.when_approved if is_approved else Outcome.DECLINED)

    def _record(self, event: Event) -> None:
        if self._journal:
            self._journal.write(event)
        self.memory.apply(event)

    def _tell_at(self, gateway: GatewayName) -> float:
        delay_seconds = self.control.switches[gateway].callback_delay_seconds / self.control.speed
        return self.now() + delay_seconds if delay_seconds else 0

    def _wait(self, transaction: Transaction) -> None:
        due_at = transaction.due_at
        if transaction.outcome is not None:
            follows = plan_of(transaction.kind, transaction.phone).follows(transaction.outcome)
            due_at = None
            if follows and transaction.decided_at is not None:
                due_at = transaction.decided_at + follows[1] / self.control.speed
        if due_at is not None:
            delay = max(0.0, due_at - self.now())
            loop = asyncio.get_running_loop()
            self.timers[transaction.id] = loop.call_later(delay, self._finish, transaction)

    def _finish(self, transaction: Transaction) -> None:
        """It is due, and the prompt was not answered before."""
        plan = plan_of(transaction.kind, transaction.phone)
        follows = plan.follows(transaction.outcome) if transaction.outcome else None
        outcome = follows[0] if follows else plan.outcome
        assert outcome is not None
        self._decide(transaction, outcome)

    def _decide(self, transaction: Transaction, outcome: Outcome) -> None:
        if timer := self.timers.pop(transaction.id, None):
            timer.cancel()
        if not self._can_move(transaction, outcome):
            if transaction.outcome is not None:
                return  # It was decided before, and so it stays.
            outcome = Outcome.BALANCE_TOO_LOW
        prompt = None
        if transaction.prompt is PromptState.WAITING:
            prompt = _PROMPT_AFTER.get(outcome, PromptState.APPROVED)
        plan = plan_of(transaction.kind, transaction.phone)
        is_secret = outcome is Outcome.SUCCESS and transaction.outcome is not None and not plan.is_recovery_told
        tell_at = self._tell_at(transaction.gateway)
        self._record(Decided(transaction.id, outcome, self.now(), prompt, tell_at, is_secret))
        if future := self._until_decided.pop(transaction.id, None):
            future.set_result(None)
        self._wait(transaction)
        if not is_secret:
            self.tell(transaction)

    def _can_move(self, transaction: Transaction, outcome: Outcome) -> bool:
        """Whether there is enough on the phone, if this takes money from it."""
        takes_from_phone = Outcome.SUCCESS if transaction.kind is PaymentKind.COLLECTION else Outcome.REVERSED
        return outcome is not takes_from_phone or self.memory.balance_of(transaction.phone) >= transaction.amount
