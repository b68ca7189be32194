"""What to do next about a payment, when something was heard of it. Pure.

The rule above all: a payment ends when its network says so, and never because of silence. `decide` is the only place
that turns a network's answer into a change of status, into another question, or into a case for an operator.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from malipo.networks.contract import Answer, FailureCode, Resubmit, Type, Verdict
from malipo.payments.transaction import Cause, Status, Transaction

# How often "I do not know it" must be heard before it counts, and how often a payout is sent in all.
_NOT_FOUNDS = 3
_SENDS = 3
_UNSENT_PAUSE_SECONDS = 5.0
# How long a payment rests whose network cannot be asked. Only a callback or an operator ends it.
_NO_QUERY_SECONDS = 86_400


# A payout has no customer who could decline it; what its payer lacks is our own float.
_OF_A_PAYOUT = {
    FailureCode.DECLINED: FailureCode.REJECTED,
    FailureCode.EXPIRED: FailureCode.REJECTED,
    FailureCode.INSUFFICIENT_FUNDS: FailureCode.CHANNEL_UNAVAILABLE,
}


class Act(StrEnum):
    """How we come to hear."""

    SEND = "send"  # the reply to the request itself
    ASK = "ask"  # the answer to a question
    CALLBACK = "callback"  # the network's own word


class Next(StrEnum):
    SEND = "send"
    SENDING = "sending"  # a worker is at it; if it dies, the next act is to ask
    ASK = "ask"


class Attention(StrEnum):
    """Why an operator must look."""

    NOT_FOUND = "not_found"  # a payout that the network says it never got, and that must not be sent again
    FORGOTTEN = "forgotten"  # the network had it, and now does not know it
    DIFFERS = "differs"  # the network speaks of another amount or phone
    UNSENT = "unsent"  # the network spoke of it before we had sent it
    UNHEARD = "unheard"  # a payout whose answer we did not hear, at a network that cannot be asked


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """Where we stand with the network."""

    route: str | None = None
    next_act: Next = Next.SEND
    sends: int = 0
    asks: int = 0
    not_founds: int = 0
    is_acknowledged: bool = False
    sent_at: datetime | None = None
    is_hinted: bool = False
    hint: FailureCode | None = None
    attention: Attention | None = None


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    poll_seconds: Sequence[int]
    not_found_seconds: float


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and what it is worth."""

    route: str
    act: Act
    answer: Answer
    is_trusted: bool = True  # not so for an unsigned callback, which is only a hint
    is_listed: bool = False  # an unsigned callback from an address that the operator has listed
    cannot_ask: frozenset[Type] = frozenset()  # types of payment for which the network has no query
    may_ask: bool = True  # what that means for the payment in question
    resubmit: Resubmit = Resubmit.UNSAFE


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause | None = None
    failure_code: FailureCode | None = None
    is_contradiction: bool = False
    dispatch: Dispatch | None = None  # None: nothing is left to do
    wait_seconds: float | None = None  # None: as it was


def decide(transaction: Transaction, dispatch: Dispatch | None, heard: Heard, rules: Rules, now: datetime) -> Decision:
    heard = replace(heard, may_ask=transaction.type not in heard.cannot_ask)
    if transaction.status.is_final:
        return _after_the_end(transaction, dispatch, heard, rules)
    assert dispatch is not None, "an open payment has a dispatch"
    if transaction.status is Status.PENDING:
        return _spoken_of(dispatch, heard, now)
    if _differs(transaction, heard.answer):
        return _ask_later(replace(dispatch, attention=Attention.DIFFERS), heard, rules)
    if not _is_believed(transaction, heard):
        hinted = replace(dispatch, hint=heard.answer.failure_code)
        return _ask_now(hinted) if heard.may_ask else Decision(dispatch=hinted)
    match heard.answer.verdict:
        case Verdict.CONFIRMED:
            return Decision(cause=Cause.CONFIRMED)
        case Verdict.REFUSED if heard.act is not Act.ASK and dispatch.sends > 1:
            # A refusal of the second sending says nothing about the first.
            return _ask_later(dispatch, heard, rules) if heard.act is Act.SEND else _ask_now(dispatch)
        case Verdict.REFUSED:
            return Decision(cause=Cause.REFUSED, failure_code=_failure_of(transaction.type, heard.answer, dispatch))
        case Verdict.UNSENT if heard.act is Act.SEND:
            unsent = replace(dispatch, next_act=Next.SEND, sends=dispatch.sends - 1)
            return Decision(dispatch=unsent, wait_seconds=_UNSENT_PAUSE_SECONDS)
        case Verdict.MISSING if heard.act is Act.ASK:
            return _missing(transaction, dispatch, heard, rules, now)
        case Verdict.WAITING:
            return _ask_later(replace(dispatch, is_acknowledged=True, not_founds=0), heard, rules)
    if not heard.may_ask and transaction.type is Type.DISBURSEMENT:
        return _ask_later(replace(dispatch, attention=Attention.UNHEARD), heard, rules)
    return _ask_later(dispatch, heard, rules)


def _after_the_end(transaction: Transaction, dispatch: Dispatch | None, heard: Heard, rules: Rules) -> Decision:
    """What the merchant saw stays. Only the answer to a question can contradict it: callbacks come late and twice."""
    verdict = heard.answer.verdict
    reopened = dispatch or Dispatch(route=heard.route, next_act=Next.ASK)
    if not verdict.is_definite or _differs(transaction, heard.answer):
        may_have_it = heard.act is Act.SEND and verdict in (Verdict.WAITING, Verdict.UNKNOWN)
        if may_have_it and heard.may_ask and transaction.status is not Status.COMPLETED:
            # A worker that slept has sent it after all, when others had given it up.
            return _ask_now(reopened)
        if heard.act is not Act.ASK or dispatch is None:
            return Decision(dispatch=dispatch)
        # Who cannot say otherwise through the whole schedule does not contradict.
        return Decision() if dispatch.asks >= len(rules.poll_seconds) else _ask_later(dispatch, heard, rules)
    agrees = (verdict is Verdict.CONFIRMED) == (transaction.status is Status.COMPLETED)
    if heard.act is Act.ASK or (not heard.may_ask and _is_believed(transaction, heard)):
        return Decision(is_contradiction=not agrees)
    if agrees or not heard.may_ask:
        return Decision(dispatch=dispatch)
    return _ask_now(reopened)


def _is_believed(transaction: Transaction, heard: Heard) -> bool:
    """Where a network has no query, an unsigned callback from a listed address is all there will ever be.

    Even then a failure never ends a payout.
    """
    is_good_enough = heard.is_listed and not heard.may_ask
    is_refused_payout = transaction.type is Type.DISBURSEMENT and heard.answer.verdict is Verdict.REFUSED
    return heard.is_trusted or (is_good_enough and not is_refused_payout)


def _spoken_of(dispatch: Dispatch, heard: Heard, now: datetime) -> Decision:
    """We have not sent it, and yet somebody speaks of it: a lie, or our database was restored from yesterday.

    It counts as sent, so the network is asked before anything is.
    """
    sent = replace(dispatch, route=heard.route, next_act=Next.ASK, sends=1, sent_at=now, attention=Attention.UNSENT)
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)


def _missing(transaction: Transaction, dispatch: Dispatch, heard: Heard, rules: Rules, now: datetime) -> Decision:
    counted = replace(dispatch, not_founds=dispatch.not_founds + 1)
    assert dispatch.sent_at is not None, "what is asked about was sent"
    had_time = now - dispatch.sent_at >= timedelta(seconds=rules.not_found_seconds)
    if counted.not_founds < _NOT_FOUNDS or not had_time:
        return _ask_later(counted, heard, rules)
    if dispatch.is_acknowledged:
        return _ask_later(replace(counted, attention=Attention.FORGOTTEN), heard, rules)
    if transaction.type is Type.COLLECTION:
        return Decision(cause=Cause.REFUSED, failure_code=FailureCode.NOT_RECEIVED)
    if heard.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.sends < _SENDS:
        return Decision(dispatch=replace(counted, next_act=Next.SEND, not_founds=0), wait_seconds=0)
    return _ask_later(replace(counted, attention=Attention.NOT_FOUND), heard, rules)


def _ask_later(dispatch: Dispatch, heard: Heard, rules: Rules) -> Decision:
    asks = dispatch.asks + (heard.act is Act.ASK)
    seconds = rules.poll_seconds[min(asks, len(rules.poll_seconds) - 1)] if heard.may_ask else _NO_QUERY_SECONDS
    if heard.act is Act.CALLBACK and dispatch.next_act is Next.SENDING:
        # The worker that is at it will say more.
        return Decision(dispatch=dispatch)
    # The answer may be older than the hint that overtook it.
    wait_seconds = 0 if dispatch.is_hinted else seconds
    return Decision(
        dispatch=replace(dispatch, next_act=Next.ASK, asks=asks, is_hinted=False), wait_seconds=wait_seconds
    )


def _ask_now(dispatch: Dispatch) -> Decision:
    """Also what was about to be sent: somebody has heard of it, so nothing is sent before the network was asked."""
    next_act = Next.ASK if dispatch.next_act is Next.SEND else dispatch.next_act
    return Decision(dispatch=replace(dispatch, next_act=next_act, is_hinted=True), wait_seconds=0)


def _failure_of(type_: Type, answer: Answer, dispatch: Dispatch) -> FailureCode:
    """A query often says no more than that it failed. Why, an unsigned callback is good enough to say."""
    failure = answer.failure_code or FailureCode.REJECTED
    if failure is FailureCode.REJECTED and dispatch.hint:
        failure = dispatch.hint
    return _OF_A_PAYOUT.get(failure, failure) if type_ is Type.DISBURSEMENT else failure


def _differs(transaction: Transaction, answer: Answer) -> bool:
    return (answer.amount is not None and answer.amount != transaction.amount) or (
        answer.phone is not None and answer.phone != transaction.phone
    )
