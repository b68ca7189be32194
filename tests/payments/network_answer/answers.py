"""Answers of a network, payments, and each decision as one word."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from malipo.networks.connector import Answer, Resubmit, Verdict
from malipo.payments.dispatch import (
    AnswerSource,
    Decision,
    Dispatch,
    LatestAnswer,
    NextAction,
    QueryRules,
    ReceivedAnswer,
    ReviewReason,
)
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Transaction, Type, next_status
from tests.payments.test_transaction import a_transaction

NOW = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
RULES = QueryRules(poll_seconds=(10, 60, 300), not_found_seconds=300, follow_up_seconds=(600, 3600, 21_600))

HEARD = {
    "send": (AnswerSource.SEND, True),
    "ask": (AnswerSource.QUERY, True),
    "callback-signed": (AnswerSource.CALLBACK, True),
    "callback-unsigned": (AnswerSource.CALLBACK, False),
}

OTHERS: list[dict[str, Any]] = [
    {"amount": 1001},
    {"phone": "+255754000002"},
    {"amount": 1001, "phone": "+255754000001"},
]


def sent(next_action: NextAction = NextAction.QUERY, **changes: Any) -> Dispatch:
    """Sent once, a moment ago."""
    return replace(Dispatch(connector="mpesa", next_action=next_action, send_count=1, sent_seconds_ago=5), **changes)


def received(
    verdict: Verdict, act: AnswerSource = AnswerSource.QUERY, *, is_trusted: bool = True, **answer: Any
) -> ReceivedAnswer:
    resubmit = answer.pop("resubmit", Resubmit.UNSAFE)
    return ReceivedAnswer(
        connector="mpesa",
        source=act,
        answer=Answer(verdict=verdict, **answer),
        is_trusted=is_trusted,
        resubmit=resubmit,
    )


def processing(type_: Type = Type.DISBURSEMENT) -> Transaction:
    return a_transaction(type_, Status.PROCESSING)


SUSPECT = Dispatch(connector="mpesa", next_action=NextAction.QUERY, send_count=1, review_reason=ReviewReason.UNSENT)


def in_words(given: Dispatch | None, decision: Decision) -> str:
    """A decision as one word of the grid."""
    if decision.cause is Cause.SUBMITTED:
        assert decision.dispatch is not None
        unheard = replace(decision.dispatch, is_success_reported=False, success_seconds_ago=None)
        assert (unheard, decision.wait_seconds) == (SUSPECT, 0)
        return "suspect"
    if decision.cause is not None:
        assert not decision.is_contradiction
        if decision.dispatch is not None:
            assert (decision.cause, decision.dispatch.is_follow_up) == (Cause.REFUSED, True)
            assert (decision.dispatch.next_action, decision.wait_seconds) == (NextAction.QUERY, 600)
            return "failed+"
        return {Cause.CONFIRMED: "completed", Cause.REFUSED: "failed"}[decision.cause]
    assert decision.failure_code is None, "only what failed has a reason"
    if decision.is_contradiction:
        assert decision.dispatch is None or decision.dispatch.is_follow_up
        return "contradiction"
    dispatch = decision.dispatch
    if dispatch is None:
        return "-" if given is None else "done"
    if decision.wait_seconds is None:
        assert dispatch == given, "what is not taken up again stays as it is"
        return "-"
    if dispatch.next_action is NextAction.SEND:
        return "again"
    return "now" if decision.wait_seconds == 0 else "later"


def the_dispatch_of(status: Status, act: AnswerSource) -> Dispatch | None:
    if status is Status.PENDING:
        return Dispatch()
    if status is Status.PROCESSING:
        return sent(NextAction.SENDING if act is AnswerSource.SEND else NextAction.QUERY)
    return (
        Dispatch(connector="mpesa", next_action=NextAction.QUERY, is_follow_up=True)
        if act is AnswerSource.QUERY
        else None
    )


def unanswerable(verdict: Verdict, how: str, **answer: Any) -> ReceivedAnswer:
    """An answer of a network without a query."""
    act, is_trusted = source_of(how)
    news = received(verdict, act, is_trusted=is_trusted, **answer)
    news = replace(news, is_listed=how in ("callback-listed", "callback-above"), cannot_query=frozenset(Type))
    return replace(news, review_amount=999) if how == "callback-above" else news


def source_of(how: str) -> tuple[AnswerSource, bool]:
    """Of a network without a query; payments are of TZS 1,000, and operators review those above 999."""
    return HEARD.get(how) or HEARD["callback-unsigned"]


@dataclass
class Life:
    """A payment from its creation to its end, with a worker that does at once whatever is due."""

    transaction: Transaction
    dispatch: Dispatch | None = None
    now: datetime = NOW
    sendings: int = 0
    sent_at: datetime = NOW
    last: LatestAnswer | None = None
    ended_at: datetime = NOW
    success_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.dispatch is None:
            self.dispatch = Dispatch(connector="mpesa")
            self.send()

    def send(self) -> None:
        """What a claim does."""
        assert self.dispatch is not None
        assert self.dispatch.next_action is NextAction.SEND
        self.sendings += 1
        self.sent_at = self.now
        self.dispatch = replace(self.dispatch, next_action=NextAction.SENDING, send_count=self.dispatch.send_count + 1)

    def report(self, news: ReceivedAnswer) -> Decision:
        if self.dispatch is not None:
            self.dispatch = replace(
                self.dispatch,
                sent_seconds_ago=(self.now - self.sent_at).total_seconds(),
                queued_seconds_ago=(self.now - self.ended_at).total_seconds() if self.dispatch.is_follow_up else 0,
                success_seconds_ago=(self.now - self.success_at).total_seconds() if self.success_at else None,
            )
        decision = decide(self.transaction, self.dispatch, news, RULES, last=self.last)
        if decision.is_contradiction:
            self.last = LatestAnswer(news.answer.verdict is Verdict.CONFIRMED, news.source)
        if decision.cause is not None:
            status = next_status(self.transaction.type, self.transaction.status, decision.cause)
            assert status is not None, "a decision leads somewhere"
            self.transaction = replace(self.transaction, status=status)
            self.ended_at = self.now
        self.dispatch = decision.dispatch
        if self.dispatch is not None and self.dispatch.success_seconds_ago == 0:
            self.success_at = self.now
        if self.dispatch is None or not self.dispatch.is_success_reported:
            self.success_at = None
        self.now += timedelta(seconds=decision.wait_seconds or 0)
        return decision
