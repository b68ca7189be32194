"""Corrections after the end: the network contradicts itself, and operators decide."""

from datetime import datetime
from typing import Any

from malipo.ledger.accounts import Account
from malipo.payments.correction_moves import Correction, CorrectionChange
from malipo.payments.dispatch import AnswerSource, LatestAnswer
from malipo.payments.transaction import Status, Transaction
from tests.model.network import AMOUNT
from tests.model.scenario import Kind
from tests.model.trace import Corrected, Trace


class Case:
    """`correct` are the functions on trial. What they change is booked and stands in the story."""

    def __init__(self, trace: Trace, correct: Any) -> None:
        self._story = trace
        self._correct = correct
        self._correction: Correction | None = None
        self._decisions = 0

    def last(self) -> LatestAnswer | None:
        return None if self._correction is None else LatestAnswer(self._correction.is_paid, self._correction.source)

    def is_open(self, transaction: Transaction) -> bool:
        return self._correction is not None and self._correct.is_open(transaction, self._correction)

    def contradict(
        self, transaction: Transaction, now: datetime, at: float, *, is_paid: bool, act: AnswerSource
    ) -> None:
        before = self._correction or self._correct.begin(transaction)
        after = self._apply(
            before, self._correct.contradict(transaction, before, is_paid=is_paid, source=act), now, at, by=act
        )
        if self._correct.is_credited_automatically(transaction, after):
            credit = self._correct.decide(transaction, after, is_paid=True, available=0)
            self._apply(after, credit, now, at, by="itself")

    def resolve(self, transaction: Transaction, now: datetime, at: float) -> None:
        """Two operators decide. A wallet that is short gives what it has, and they decide again the day after."""
        before = self._correction
        assert before is not None
        kinds = {each.kind for each in self._story.scenario.faults}
        is_short = Kind.WALLET_SHORT in kinds and self._decisions == 0
        self._decisions += 1
        available = AMOUNT // 4 if is_short else self._story.balances[Account.WALLET]
        is_told = before.is_paid == (transaction.status is Status.COMPLETED)
        is_paid = before.is_paid if is_told or Kind.HOUSE_BEARS not in kinds else not before.is_paid
        change = self._correct.decide(transaction, before, is_paid=is_paid, available=available)
        self._apply(before, change, now, at, by="operators", available=available)

    def finish(self, transaction: Transaction) -> None:
        """How it is left at the end."""
        if self._correction is not None:
            self._story.says_paid, self._story.owed = self._correction.is_paid, self._correction.owed
            self._story.due = self._correct.due(transaction, self._correction)
            self._story.is_case_open = self.is_open(transaction)

    def _apply(
        self,
        before: Correction,
        change: CorrectionChange,
        now: datetime,
        at: float,
        *,
        by: str,
        available: int | None = None,
    ) -> Correction:
        change = self._correct.with_notice(change, now)
        wallet = self._story.balances[Account.WALLET]
        self._story.book(change.moves)
        after = self._correction = change.correction
        self._story.entries.append(
            Corrected(
                at=at,
                by=by,
                says_paid=after.is_paid,
                wallet=self._story.balances[Account.WALLET] - wallet,
                owed=after.owed - before.owed,
                reported_amount=None if change.reason is None else change.amount,
                losses=self._story.balances[Account.LOSSES],
                available=available,
            )
        )
        return after
