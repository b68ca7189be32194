"""What a network's answer means for a payment, and what to do next. Pure.

The rules above all: a payment ends when its network says so, and never because of silence; and a success that was
heard is never forgotten. `decide` is the only place that turns a network's answer into a change of status, into
another question, or into a case for an operator.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from malipo.networks.connector import Answer, FailureCode, Resubmit, Type, Verdict
from malipo.payments.transaction import Cause, Status, Transaction

# How often "there is no such payment" must be heard before it counts, and how often a payout is sent in all.
_NOT_FOUNDS = 3
_SENDS = 3
_UNSENT_PAUSE_SECONDS = 5.0
# After a restore: how often an answer that says nothing is heard before operators are shown the payment.
_VAGUE_ANSWERS = 3
# How long a payment rests whose network cannot be asked. Only a callback or an operator ends it.
_NO_QUERY_SECONDS = 86_400

# A payout has no customer who could decline it; what its payer lacks is our own float.
_OF_A_PAYOUT = {
    FailureCode.DECLINED: FailureCode.REJECTED,
    FailureCode.EXPIRED: FailureCode.REJECTED,
    FailureCode.INSUFFICIENT_FUNDS: FailureCode.CHANNEL_UNAVAILABLE,
}
# Collections that may yet turn out to be paid after they failed like this.
_MAY_STILL_BE_PAID = (FailureCode.NOT_RECEIVED, FailureCode.EXPIRED)


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
    RESTORED = "restored"  # it may have been sent before the database was restored, and the network cannot say
    UNHEARD = "unheard"  # nobody said what became of it, at a network that cannot be asked
    SAID_PAID = "said_paid"  # a callback said that it was paid, and no query confirms it
    DISPUTED = "disputed"  # a signed callback contradicts what was said before, and the query does not confirm it


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """Where we stand with the network."""

    route: str | None = None
    next_act: Next = Next.SEND
    sends: int = 0
    asks: int = 0
    not_founds: int = 0
    not_indexed: int = 0  # in a row
    is_acknowledged: bool = False
    is_hinted: bool = False
    is_success_heard: bool = False
    is_follow_up: bool = False  # the payment has ended, and its network is asked whether it stays so
    is_asked_first: bool = False  # it was not sent, as far as we know; its network is asked before it is
    hint: FailureCode | None = None
    attention: Attention | None = None
    # How long ago it was last sent, put into the queue (of a follow-up: ended), and said to be paid, by the database's
    # clock. Only the last is written: 0 is now.
    sent_seconds: float | None = None
    queued_seconds: float = 0
    success_seconds: float | None = None


class LatestAnswer(msgspec.Struct, frozen=True):
    """What was last said of a payment that has ended, where it is not what its merchant was told, and how."""

    is_paid: bool
    act: Act | None = None  # None: operators have read it on the network's statement


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    poll_seconds: Sequence[int]
    not_found_seconds: float
    not_indexed_seconds: float = 1800
    not_indexed_answers: int = 6
    follow_up_seconds: Sequence[int] = (600, 3600, 21_600, 86_400, 259_200)


class ReceivedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and what it is worth."""

    route: str
    act: Act
    answer: Answer
    is_trusted: bool = True  # not so for an unsigned callback, which is only a hint
    is_listed: bool = False  # an unsigned callback from an address that the operator has listed
    cannot_ask: frozenset[Type] = frozenset()  # types of payment for which the network has no query
    may_ask: bool = True  # what that means for the payment in question
    age_seconds: float = 0  # of an answer: how long ago the question left
    resubmit: Resubmit = Resubmit.UNSAFE


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause | None = None
    failure_code: FailureCode | None = None
    is_contradiction: bool = False  # the network says the opposite of what was last said
    dispatch: Dispatch | None = None  # None: nothing is left to do
    wait_seconds: float | None = None  # None: as it was


def decide(
    transaction: Transaction,
    dispatch: Dispatch | None,
    heard: ReceivedAnswer,
    rules: Rules,
    *,
    last: LatestAnswer | None = None,
) -> Decision:
    heard = replace(heard, may_ask=transaction.type not in heard.cannot_ask)
    if transaction.status.is_final:
        last = last or LatestAnswer(transaction.status is Status.COMPLETED)
        return _after_the_end(transaction, dispatch, heard, rules, last)
    assert dispatch is not None, "an open payment has a dispatch"
    if heard.answer.verdict is Verdict.CONFIRMED:
        dispatch = _with_success(dispatch)
    if transaction.status is Status.PENDING and dispatch.is_asked_first and heard.act is Act.ASK:
        return _asked_first(transaction, dispatch, heard, rules)
    if transaction.status is Status.PENDING:
        return _spoken_of(dispatch, heard)
    return _while_open(transaction, dispatch, heard, rules)


def _while_open(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    if _differs(transaction, heard.answer):
        return _ask_later(replace(dispatch, attention=Attention.DIFFERS), heard, rules)
    if not _is_believed(transaction, heard):
        return _hint(dispatch, heard)
    if heard.act is Act.ASK:
        dispatch = _in_a_row(dispatch, heard.answer.verdict)
    match heard.answer.verdict:
        case Verdict.CONFIRMED:
            return Decision(cause=Cause.CONFIRMED)
        case Verdict.REFUSED if heard.act is not Act.ASK and dispatch.sends > 1:
            # A refusal of the second sending says nothing about the first.
            return _ask_later(dispatch, heard, rules) if heard.act is Act.SEND else _ask_now(dispatch)
        case Verdict.REFUSED if heard.act is Act.SEND and dispatch.is_success_heard:
            # The reply and a callback contradict each other, so the network is asked.
            return _ask_later(dispatch, heard, rules)
        case Verdict.REFUSED if heard.act is Act.ASK and _is_overtaken(dispatch, heard):
            return _ask_later(dispatch, heard, rules)
        case Verdict.REFUSED:
            return _failed(transaction, dispatch, heard, rules, _failure_of(transaction.type, heard.answer, dispatch))
        case Verdict.UNSENT if heard.act is Act.SEND and not dispatch.is_success_heard:
            unsent = replace(dispatch, next_act=Next.SEND, sends=dispatch.sends - 1)
            return Decision(dispatch=unsent, wait_seconds=_UNSENT_PAUSE_SECONDS)
        case Verdict.MISSING if heard.act is Act.ASK:
            return _missing(transaction, dispatch, heard, rules)
        case Verdict.NOT_INDEXED if heard.act is Act.ASK:
            return _not_indexed(transaction, dispatch, heard, rules)
        case Verdict.WAITING:
            return _ask_later(replace(dispatch, is_acknowledged=True, not_founds=0, not_indexed=0), heard, rules)
    if not heard.may_ask and _must_be_shown(transaction, heard):
        return _ask_later(replace(dispatch, attention=Attention.UNHEARD), heard, rules)
    return _ask_later(dispatch, heard, rules)


def _must_be_shown(transaction: Transaction, heard: ReceivedAnswer) -> bool:
    """Whether an operator is shown at once that nobody can be asked.

    A collection whose answer was only lost is left to its callback; one that its network answered with something that
    is neither yes nor no ("duplicate", say) may never get one.
    """
    is_odd_answer = heard.act is Act.SEND and not heard.answer.is_fault
    return transaction.type is Type.DISBURSEMENT or heard.act is Act.ASK or is_odd_answer


def _with_success(dispatch: Dispatch) -> Dispatch:
    return replace(dispatch, is_success_heard=True, success_seconds=0)


def _is_overtaken(dispatch: Dispatch, heard: ReceivedAnswer) -> bool:
    """A success was heard after this question had left, so that its answer may be the older word."""
    return dispatch.success_seconds is not None and heard.age_seconds >= dispatch.success_seconds


def _in_a_row(dispatch: Dispatch, verdict: Verdict) -> Dispatch:
    """Answers of one kind count in a row: any other begins it anew."""
    return replace(
        dispatch,
        not_founds=dispatch.not_founds + 1 if verdict is Verdict.MISSING else 0,
        not_indexed=dispatch.not_indexed + 1 if verdict is Verdict.NOT_INDEXED else 0,
    )


def _hint(dispatch: Dispatch, heard: ReceivedAnswer) -> Decision:
    """What is not believed has the network asked, or an operator, if nobody else can say."""
    hinted = replace(dispatch, hint=heard.answer.failure_code or dispatch.hint)
    if heard.may_ask:
        return _ask_now(hinted)
    if hinted.is_success_heard and hinted.next_act is Next.SEND:
        hinted = replace(hinted, next_act=Next.ASK)  # Nothing is sent that is said to be paid.
    return Decision(dispatch=replace(hinted, attention=_attention(hinted, is_exhausted=True)))


def _failed(
    transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules, failure: FailureCode
) -> Decision:
    """It ends as FAILED. Where it may yet turn out to be paid, its network is asked again for days."""
    may_be_paid = transaction.type is Type.DISBURSEMENT or failure in _MAY_STILL_BE_PAID or dispatch.is_success_heard
    after = follow_up(dispatch, heard.route)
    if may_be_paid and heard.may_ask:
        seconds = float(rules.follow_up_seconds[0])
    elif after.attention is not None:
        seconds = _NO_QUERY_SECONDS
    else:
        return Decision(cause=Cause.REFUSED, failure_code=failure)
    return Decision(cause=Cause.REFUSED, failure_code=failure, dispatch=after, wait_seconds=seconds)


def follow_up(dispatch: Dispatch | None, route: str) -> Dispatch:
    """The questions after the end begin anew. What was heard before stays heard, and what was shown stays shown."""
    after = Dispatch(route=route, next_act=Next.ASK, is_follow_up=True)
    if dispatch is None or not dispatch.is_success_heard:
        return after
    shown = dispatch.attention if dispatch.attention in (Attention.DIFFERS, Attention.SAID_PAID) else None
    return replace(after, is_success_heard=True, success_seconds=dispatch.success_seconds, attention=shown)


def _after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, heard: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    """What the merchant saw stays. What is said now may contradict it."""
    verdict = heard.answer.verdict
    asked = dispatch or follow_up(None, heard.route)
    if verdict is Verdict.CONFIRMED and not last.is_paid:
        asked = _with_success(asked if asked.is_success_heard else replace(asked, asks=0))
    if verdict.is_definite and _differs(transaction, heard.answer):
        return _ask_again(replace(asked, attention=Attention.DIFFERS), heard, rules)
    if not verdict.is_definite:
        return _unclear_after_the_end(transaction, dispatch, asked, heard, rules)
    if (verdict is Verdict.CONFIRMED) == last.is_paid:
        return _agrees(transaction, dispatch, heard, rules, last)
    if last.is_paid and last.act is Act.CALLBACK:
        # A success that was signed stands, whatever the query says, and whatever failure is told once more.
        return _ask_again(replace(asked, attention=Attention.DISPUTED), heard, rules)
    if _is_believed(transaction, heard) and not _is_asked_first(heard):
        contradicted = replace(asked, is_success_heard=False, success_seconds=None, attention=None)
        again = _ask_again(contradicted, heard, rules) if heard.may_ask else Decision()
        return replace(again, is_contradiction=True)
    if heard.may_ask:
        is_dispute = heard.is_trusted and heard.act is Act.CALLBACK
        return _ask_now(replace(asked, attention=Attention.DISPUTED) if is_dispute else asked)
    if verdict is Verdict.REFUSED:
        return Decision(dispatch=dispatch)
    return _ask_again(replace(asked, attention=Attention.SAID_PAID), heard, rules)


def _is_asked_first(heard: ReceivedAnswer) -> bool:
    """Whether the network is asked before it counts that it takes a success back.

    A success is one however it was heard. A refusal may be late: of the first sending, or a callback that comes twice.
    """
    return heard.answer.verdict is Verdict.REFUSED and heard.act is not Act.ASK and heard.may_ask


def _unclear_after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, asked: Dispatch, heard: ReceivedAnswer, rules: Rules
) -> Decision:
    may_have_it = heard.act is Act.SEND and heard.answer.verdict in (Verdict.WAITING, Verdict.UNKNOWN)
    if may_have_it and heard.may_ask and transaction.status is not Status.COMPLETED:
        # A worker that slept has sent it after all, when others had given it up.
        return _ask_now(asked)
    if heard.act is not Act.ASK or dispatch is None:
        return Decision(dispatch=dispatch)
    return _ask_again(dispatch, heard, rules)


def _agrees(
    transaction: Transaction, dispatch: Dispatch | None, heard: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    if heard.act is not Act.ASK or dispatch is None:
        return Decision(dispatch=dispatch)
    if _is_overtaken(dispatch, heard) or (last.is_paid and dispatch.is_hinted):
        return _ask_again(dispatch, heard, rules)
    if last.is_paid and transaction.status is Status.COMPLETED:
        return Decision()
    # Whoever said otherwise was wrong, as the network has it now.
    agreed = replace(dispatch, is_success_heard=False, success_seconds=None, attention=None)
    return _ask_again(agreed, heard, rules)


def _ask_again(dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """After the end: at the times of the long schedule, which count from the end; and at those of the short one too, as
    long as somebody says that it was paid."""
    asks = dispatch.asks + (heard.act is Act.ASK)
    is_exhausted = asks >= len(rules.poll_seconds) or not heard.may_ask
    asked = replace(dispatch, next_act=Next.ASK, asks=asks, is_hinted=False)
    asked = replace(asked, attention=_attention(asked, is_exhausted=is_exhausted))
    if dispatch.is_hinted and heard.act is Act.ASK:
        return Decision(dispatch=asked, wait_seconds=0)
    waits = [moment - dispatch.queued_seconds for moment in rules.follow_up_seconds if moment > dispatch.queued_seconds]
    if dispatch.is_success_heard and not is_exhausted:
        waits.append(rules.poll_seconds[asks])
    if waits and heard.may_ask:
        return Decision(dispatch=asked, wait_seconds=min(waits))
    # Only an operator can say more. Without anything for one to look at, nothing is left to do.
    keeps = asked.attention is not None
    return Decision(dispatch=asked, wait_seconds=_NO_QUERY_SECONDS) if keeps else Decision()


def _is_believed(transaction: Transaction, heard: ReceivedAnswer) -> bool:
    """Where a network has no query, an unsigned callback from a listed address is all there will ever be.

    Even then a failure never ends a payout.
    """
    is_good_enough = heard.is_listed and not heard.may_ask
    is_refused_payout = transaction.type is Type.DISBURSEMENT and heard.answer.verdict is Verdict.REFUSED
    return heard.is_trusted or (is_good_enough and not is_refused_payout)


def _spoken_of(dispatch: Dispatch, heard: ReceivedAnswer) -> Decision:
    """We have not sent it, and yet somebody speaks of it: a lie, or our database was restored from yesterday.

    It counts as sent, so the network is asked before anything is.
    """
    sent = replace(
        dispatch, route=heard.route, next_act=Next.ASK, sends=1, attention=Attention.UNSENT, is_asked_first=False
    )
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)


def _asked_first(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """The database was restored: it may have been sent before. What the network has is sent; what it has not, may go.

    A payout goes only where the network also refuses duplicates, and nothing goes where nobody can be asked. But a
    collection that was taken in since goes unless the network has it: its customer decides, who is waiting.
    """
    match heard.answer.verdict:
        case Verdict.CONFIRMED | Verdict.REFUSED | Verdict.WAITING:
            sent = replace(
                dispatch, route=heard.route, next_act=Next.ASK, sends=1, is_asked_first=False, attention=None
            )
            return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
        case Verdict.MISSING if _had_time(dispatch, rules.not_found_seconds):
            return _not_sent_before(transaction, dispatch, heard)
        case Verdict.NOT_INDEXED if _had_time(dispatch, rules.not_indexed_seconds):
            return _not_sent_before(transaction, dispatch, heard)
    is_answered = heard.answer.verdict is not Verdict.UNSENT and not heard.answer.is_fault
    if transaction.type is Type.COLLECTION and _is_taken_in_since(dispatch) and (is_answered or not heard.may_ask):
        return _not_sent_before(transaction, dispatch, heard)
    asks = dispatch.asks + 1
    if not heard.may_ask:
        held = replace(dispatch, asks=asks, attention=Attention.RESTORED)
        return Decision(dispatch=held, wait_seconds=_NO_QUERY_SECONDS)
    seconds = min(
        rules.poll_seconds[min(asks, len(rules.poll_seconds) - 1)],
        _until_it_counts(dispatch, heard.answer.verdict, rules),
    )
    # Some networks never say for certain that they do not know a payment. Asking goes on, and operators are shown it.
    is_vague = heard.answer.verdict is Verdict.UNKNOWN and not heard.answer.is_fault
    is_shown = asks >= (_VAGUE_ANSWERS if is_vague else len(rules.poll_seconds))
    attention = Attention.RESTORED if is_shown else dispatch.attention
    return Decision(dispatch=replace(dispatch, asks=asks, attention=attention), wait_seconds=seconds)


def _is_taken_in_since(dispatch: Dispatch) -> bool:
    """Whether it was asked for after the restore was noticed, which is what counts as its sending until it is sent."""
    assert dispatch.sent_seconds is not None, "what is asked about first counts as sent at the restore"
    return dispatch.queued_seconds < dispatch.sent_seconds


def _until_it_counts(dispatch: Dispatch, verdict: Verdict, rules: Rules) -> float:
    """In how many seconds "not known" will be believed, and one more: whoever asks then need not ask again."""
    assert dispatch.sent_seconds is not None, "what is asked about first counts as sent at the restore"
    match verdict:
        case Verdict.MISSING:
            return rules.not_found_seconds - dispatch.sent_seconds + 1
        case Verdict.NOT_INDEXED:
            return rules.not_indexed_seconds - dispatch.sent_seconds + 1
    return math.inf


def _not_sent_before(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer) -> Decision:
    is_safe = transaction.type is Type.COLLECTION or heard.resubmit is Resubmit.DUPLICATES_REFUSED
    if is_safe and not dispatch.is_success_heard:
        return Decision(dispatch=replace(dispatch, is_asked_first=False, asks=0, attention=None), wait_seconds=0)
    held = replace(dispatch, asks=dispatch.asks + 1, attention=Attention.RESTORED)
    return Decision(dispatch=held, wait_seconds=_NO_QUERY_SECONDS)


def _not_indexed(transaction: Transaction, counted: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """ "Unknown" may mean that it is not found yet. It counts only when it was said long enough and often enough."""
    is_enough = counted.not_indexed >= rules.not_indexed_answers
    if not is_enough or not _had_time(counted, rules.not_indexed_seconds):
        return _ask_later(counted, heard, rules)
    return _not_found(transaction, counted, heard, rules)


def _missing(transaction: Transaction, counted: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    if counted.not_founds < _NOT_FOUNDS or not _had_time(counted, rules.not_found_seconds):
        return _ask_later(counted, heard, rules)
    return _not_found(transaction, counted, heard, rules)


def _not_found(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """The network has no such payment, and had time to find it."""
    if dispatch.is_success_heard:
        # Somebody said that it was paid: it neither fails nor is sent again.
        return _ask_later(dispatch, heard, rules)
    if dispatch.is_acknowledged:
        return _ask_later(replace(dispatch, attention=Attention.FORGOTTEN), heard, rules)
    if transaction.type is Type.COLLECTION:
        return _failed(transaction, dispatch, heard, rules, FailureCode.NOT_RECEIVED)
    if heard.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.sends < _SENDS:
        again = replace(dispatch, next_act=Next.SEND, not_founds=0, not_indexed=0)
        return Decision(dispatch=again, wait_seconds=0)
    return _ask_later(replace(dispatch, attention=Attention.NOT_FOUND), heard, rules)


def _had_time(dispatch: Dispatch, seconds: float) -> bool:
    assert dispatch.sent_seconds is not None, "what is asked about was sent"
    return dispatch.sent_seconds >= seconds


def _ask_later(dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    asks = dispatch.asks + (heard.act is Act.ASK)
    seconds = rules.poll_seconds[min(asks, len(rules.poll_seconds) - 1)] if heard.may_ask else _NO_QUERY_SECONDS
    is_exhausted = not heard.may_ask or asks >= len(rules.poll_seconds)
    dispatch = replace(dispatch, attention=_attention(dispatch, is_exhausted=is_exhausted))
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


def _attention(dispatch: Dispatch, *, is_exhausted: bool) -> Attention | None:
    """A success that was heard, and that nobody has confirmed when the schedule ends, is for an operator."""
    if dispatch.attention is None and dispatch.is_success_heard and is_exhausted:
        return Attention.SAID_PAID
    return dispatch.attention


def _failure_of(type_: Type, answer: Answer, dispatch: Dispatch) -> FailureCode:
    """A query often says no more than that it failed. Why, an unsigned callback is good enough to say."""
    failure = answer.failure_code or FailureCode.REJECTED
    if failure is FailureCode.REJECTED and dispatch.hint:
        failure = dispatch.hint
    return _OF_A_PAYOUT.get(failure, failure) if type_ is Type.DISBURSEMENT else failure


def _differs(transaction: Transaction, answer: Answer) -> bool:
    return (
        answer.lacks_amount
        or (answer.amount is not None and answer.amount != transaction.amount)
        or (answer.phone is not None and answer.phone != transaction.phone)
    )
