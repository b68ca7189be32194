"""Lives a payment through in virtual time: workers, callbacks and operators as the service has them, without a database.

What an answer means is decided by malipo's own pure functions, and by nothing here.
"""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from malipo.ledger.accounts import Account, Move
from malipo.networks.connector import Answer, Channel, FailureCode, Resubmit, Verdict
from malipo.payments import correction_moves as corrections
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, NextAction, QueryRules, ReceivedAnswer
from malipo.payments.network_answer.decide import decide as decide_by_rules
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.status_effects import posting_of
from malipo.payments.status_writer import StatusChange, after_change
from malipo.payments.transaction import Cause, Status, Transaction, Type
from tests.model import network as networks
from tests.model.corrections import Case
from tests.model.network import AMOUNT, Network, Said
from tests.model.queue_row import Row
from tests.model.scenario import DAY, HOUR, Fault, Kind, Scenario
from tests.model.trace import Asked, MerchantNotice, Sent, Trace, Way, Word

RULES = QueryRules(poll_seconds=(15, 30, 60, 120, 300, 900, 3600), not_found_seconds=300)
LAPSE_SECONDS = 600.0
MOST_SENDINGS = 20  # whoever sends more often is not waited for
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_WAYS = {AnswerSource.SEND: Way.REPLY, AnswerSource.QUERY: Way.QUERY, AnswerSource.CALLBACK: Way.CALLBACK}
_SLOW_SECONDS = 20.0


class Decide(Protocol):
    def __call__(
        self,
        transaction: Transaction,
        dispatch: Dispatch | None,
        received: ReceivedAnswer,
        rules: QueryRules,
        *,
        last: Any = None,
    ) -> Decision: ...


class Life:
    """`decide` and `correct` are the functions on trial."""

    def __init__(self, scenario: Scenario, *, decide: Decide = decide_by_rules, correct: Any = corrections) -> None:
        self._decide = decide
        self._faults = scenario.faults
        self._nature = scenario.nature
        self._network = Network(scenario)
        self._now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._transaction = _a_transaction(scenario)
        self._row = Row(max((each.seconds for each in self._of(Kind.TAKEN_UP_LATE)), default=0.0))
        self._sendings = 0
        self.trace = Trace(scenario, self._network, 5 * AMOUNT)
        self._case = Case(self.trace, correct)

    def run(self) -> Trace:
        self.trace.book([Move(Account.BANK, Account.WALLET, self.trace.first_wallet)])
        self._book_status()
        self._plan()
        while (at := self._next_at()) is not None:
            self._now = max(self._now, at)
            if self._agenda and self._agenda[0][0] <= at:
                heapq.heappop(self._agenda)[2]()
            else:
                self._take_up()
        return self._finished()

    def _plan(self) -> None:
        for fault in self._faults:
            match fault.kind:
                case Kind.FORGED_SUCCESS:
                    amount = AMOUNT if self._nature.names_amount else None
                    forged = Answer(verdict=Verdict.CONFIRMED, amount=amount, provider_reference="F1")
                    self._at(fault.at, self._callback(Said(fault.at, forged, is_signed=False, is_listed=False)))
                case Kind.FORGED_FAILURE:
                    forged = Answer(verdict=Verdict.REFUSED, failure_code=FailureCode.DECLINED)
                    self._at(fault.at, self._callback(Said(fault.at, forged, is_signed=False, is_listed=False)))
                case Kind.CANCELLED:
                    self._at(fault.at, self._cancel)
                case Kind.OPERATORS_SAY_FAILED:
                    self._at(fault.at, self._end_by_operators)
                case _:
                    pass

    def _next_at(self) -> float | None:
        """When something happens next; None when nothing more is worth waiting for."""
        if self._sendings > MOST_SENDINGS:
            return None
        ahead = self._agenda[0][0] if self._agenda else None
        due = None if self._row.dispatch is None else self._row.due_at
        at = min((each for each in (ahead, due) if each is not None), default=None)
        if at is None or ahead is not None:
            return at
        late = max((each.seconds for each in self._of(Kind.TAKEN_UP_LATE)), default=0.0)
        quiet = max(self._network.quiet_at, late) + 8 * HOUR
        if self.trace.ended_at is not None:
            quiet = max(quiet, self.trace.ended_at + 5 * DAY)
        return at if at <= quiet else None

    # workers

    def _take_up(self) -> None:
        assert self._row.dispatch is not None
        if self._row.dispatch.next_action is not NextAction.SEND:
            self._ask()
        elif self._is_too_late(self._row.dispatch):
            cause = Cause.LAPSED if self._transaction.status is Status.PENDING else Cause.REFUSED
            self._reach(cause, FailureCode.CHANNEL_UNAVAILABLE, by="lapsed")
            self._row.dispatch = None
        else:
            self._claim()

    def _is_too_late(self, dispatch: Dispatch) -> bool:
        return (
            self._transaction.type is Type.COLLECTION
            and self._now - self._row.queued_at >= LAPSE_SECONDS
            and dispatch.send_count == 0
            and not dispatch.is_success_reported
        )

    def _claim(self) -> None:
        if self._transaction.status is Status.PENDING:
            self._reach(Cause.SUBMITTED, None, by="claim")
        self._row.claim(self._now)
        nth, self._sendings = self._sendings, self._sendings + 1
        self._send(nth)

    def _send(self, nth: int) -> None:
        faults = {each.kind: each for each in self._faults if each.nth == nth}
        is_unsent = Kind.UNSENT in faults or Kind.WORKER_DIES_BEFORE in faults
        self.trace.entries.append(Sent(self._now, nth, is_unsent))
        if Kind.WORKER_DIES_BEFORE in faults:
            return
        if Kind.UNSENT in faults:
            answer = Answer(verdict=Verdict.UNSENT, code="connection refused", is_fault=True)
            seconds = min(faults[Kind.UNSENT].seconds, networks.TIMEOUT_SECONDS)
            self._at(self._now + seconds, lambda: self._receive(AnswerSource.SEND, answer, nth=nth))
        elif Kind.REFUSED_AT_THE_DOOR in faults:
            self._at(self._now + 1, lambda: self._receive(AnswerSource.SEND, networks.refused_at_the_door(), nth=nth))
        elif Kind.REQUEST_LOST in faults:
            self._lose_reply(nth)
        elif Kind.ARRIVES_LATE in faults:
            self._lose_reply(nth)
            self._at(self._now + faults[Kind.ARRIVES_LATE].seconds, self._arrive)
        else:
            self._at(self._now + 0.5, lambda: self._reply(nth, faults))

    def _arrive(self) -> tuple[Answer, float]:
        answer, leaves_at, said = self._network.take_in(self._now)
        for each in said:
            self._at(each.at, self._callback(each))
        return answer, leaves_at

    def _reply(self, nth: int, faults: dict[Kind, Fault]) -> None:
        answer, leaves_at = self._arrive()
        if Kind.WORKER_DIES_AFTER in faults:
            return
        if Kind.REPLY_WRONG in faults:
            answer, leaves_at = networks.refused_at_the_door(), self._now + min(faults[Kind.REPLY_WRONG].seconds, 300.0)
        if Kind.REPLY_LOST in faults:
            self._lose_reply(nth)
            return
        slow = faults[Kind.REPLY_SLOW].seconds if Kind.REPLY_SLOW in faults else 0.0
        self._at(leaves_at + slow, lambda: self._receive(AnswerSource.SEND, answer, nth=nth))

    def _lose_reply(self, nth: int) -> None:
        self._at(
            self._now + networks.TIMEOUT_SECONDS, lambda: self._receive(AnswerSource.SEND, networks.lost(), nth=nth)
        )

    def _ask(self) -> None:
        self._row.lease(self._now)
        self.trace.entries.append(Asked(self._now, self._transaction.status))
        answer = self._network.ask(self._now)
        slow = any(each.at <= self._now < each.at + each.seconds for each in self._of(Kind.QUERY_SLOW))
        asked_at = self._now
        self._at(
            asked_at + (_SLOW_SECONDS if slow else 0.3),
            lambda: self._receive(AnswerSource.QUERY, answer, asked_at=asked_at),
        )

    def _callback(self, said: Said) -> Callable[[], None]:
        return lambda: self._receive(
            AnswerSource.CALLBACK, said.answer, is_signed=said.is_signed, is_listed=said.is_listed
        )

    # what is heard

    def _receive(
        self,
        act: AnswerSource,
        answer: Answer,
        *,
        is_signed: bool = True,
        is_listed: bool = False,
        nth: int = 0,
        asked_at: float | None = None,
    ) -> None:
        received = ReceivedAnswer(
            connector="model",
            source=act,
            answer=answer,
            is_trusted=is_signed,
            is_listed=is_listed,
            cannot_query=frozenset() if self._nature.has_query else frozenset(Type),
            resubmit=Resubmit.UNSAFE if act is AnswerSource.CALLBACK else self._nature.resubmit,
            age_seconds=0 if asked_at is None else self._now - asked_at,
        )
        before, believed = self._transaction.status, self._believes_paid()
        decision = self._decide(self._transaction, self._row.read(self._now), received, RULES, last=self._case.last())
        was_queued = self._row.dispatch is not None
        if decision.cause is not None:
            self._reach(decision.cause, decision.failure_code, by=f"{act}")
            was_queued = was_queued and not self._transaction.status.is_final
        self._row.keep(decision, self._now, was_queued=was_queued)
        word = Word(
            at=self._now,
            way=_WAYS[act],
            verdict=answer.verdict,
            is_right_amount=answer.amount in (None, AMOUNT) and not answer.lacks_amount,
            is_proven=is_signed,
            is_listed=is_listed,
            nth=nth,
            before=before,
            after=self._transaction.status,
            believed_before=believed,
            is_contradiction=decision.is_contradiction,
            is_shown=self._row.is_shown,
        )
        self.trace.entries.append(word)
        if decision.is_contradiction:
            self._contradict(is_paid=answer.verdict is Verdict.CONFIRMED, act=act)

    def _reach(self, cause: Cause, failure: FailureCode | None, *, by: str) -> None:
        change = StatusChange(
            merchant_id=self._transaction.merchant_id,
            transaction_id=self._transaction.id,
            cause=cause,
            failure_code=failure,
        )
        after = after_change(self._transaction, change, self._clock())
        assert after is not None, "a decision leads somewhere"
        self._transaction = after
        self._book_status()
        self.trace.entries.append(MerchantNotice(self._now, after.status, after.failure_code, by))
        if after.status.is_final:
            self.trace.ended_at = self._now

    def _book_status(self) -> None:
        posting = posting_of(self._transaction)
        self.trace.book(list(posting.moves) if posting is not None else [])

    # after the end

    def _believes_paid(self) -> bool | None:
        last = self._case.last()
        if last is not None:
            return last.is_paid
        return self._transaction.status is Status.COMPLETED if self._transaction.status.is_final else None

    def _contradict(self, *, is_paid: bool, act: AnswerSource) -> None:
        self._case.contradict(self._transaction, self._clock(), self._now, is_paid=is_paid, act=act)
        if self._case.is_open(self._transaction) and not self._of(Kind.CASE_LEFT_OPEN):
            self._at(self._now + DAY, self._resolve)

    def _resolve(self) -> None:
        if not self._case.is_open(self._transaction):
            return
        self._case.resolve(self._transaction, self._clock(), self._now)
        self._row.resolve()
        if self._case.is_open(self._transaction):
            self._at(self._now + DAY, self._resolve)

    def _cancel(self) -> None:
        if self._transaction.status is Status.PENDING:
            self._reach(Cause.WITHDRAWN, None, by="merchant")
            self._row.dispatch = None

    def _end_by_operators(self) -> None:
        """They have read a statement on which it does not stand."""
        is_sending = self._row.dispatch is not None and self._row.dispatch.next_action is NextAction.SENDING
        if self._transaction.status is Status.PROCESSING and not is_sending and not self._network.moved(self._now):
            self._reach(Cause.REFUSED, FailureCode.REJECTED, by="operators")
            self._row.follow_up(follow_up(None, "model"), self._now, RULES.follow_up_seconds[0])

    # the end

    def _finished(self) -> Trace:
        trace = self.trace
        trace.over_at = self._now
        trace.status, trace.failure_code = self._transaction.status, self._transaction.failure_code
        trace.is_queued = self._row.dispatch is not None
        trace.due_at = None if self._row.dispatch is None else self._row.due_at
        trace.is_shown = self._row.is_shown
        self._case.finish(self._transaction)
        return trace

    def _clock(self) -> datetime:
        return _BEGINNING + timedelta(seconds=self._now)

    def _at(self, at: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (at, next(self._order), act))

    def _of(self, kind: Kind) -> list[Fault]:
        return [each for each in self._faults if each.kind is kind]


def _a_transaction(scenario: Scenario) -> Transaction:
    return Transaction(
        merchant_id="mer_1",
        id="txn_1",
        reference="MLP-1",
        network_key="1",
        type=scenario.nature.type,
        channel=Channel.MPESA,
        status=Status.PENDING,
        amount=AMOUNT,
        fee=scenario.nature.fee,
        phone="+255754000001",
        name="",
        description="",
        metadata={},
        created_at=_BEGINNING,
    )


def live(scenario: Scenario, *, decide: Decide = decide_by_rules, correct: Any = corrections) -> Trace:
    return Life(scenario, decide=decide, correct=correct).run()
