"""What an answer means when the payment has ended: it agrees, or it contradicts what the merchant was told. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Type, Verdict
from malipo.payments.dispatch import (
    AnswerSource,
    Attention,
    Decision,
    Dispatch,
    LatestAnswer,
    NextAction,
    ReceivedAnswer,
    Rules,
)
from malipo.payments.network_answer.credibility import differs, is_believed, is_overtaken, with_success
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS, ask_again, ask_now
from malipo.payments.transaction import Cause, Status, Transaction

# Collections that may yet turn out to be paid after they failed like this.
_MAY_STILL_BE_PAID = (FailureCode.NOT_RECEIVED, FailureCode.EXPIRED)


def failed(
    transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules, failure: FailureCode
) -> Decision:
    """It ends as FAILED. Where it may yet turn out to be paid, its network is asked again for days."""
    may_be_paid = transaction.type is Type.DISBURSEMENT or failure in _MAY_STILL_BE_PAID or dispatch.is_success_heard
    after = follow_up(dispatch, heard.connector)
    if may_be_paid and heard.may_ask:
        seconds = float(rules.follow_up_seconds[0])
    elif after.attention is not None:
        seconds = NO_QUERY_SECONDS
    else:
        return Decision(cause=Cause.REFUSED, failure_code=failure)
    return Decision(cause=Cause.REFUSED, failure_code=failure, dispatch=after, wait_seconds=seconds)


def follow_up(dispatch: Dispatch | None, connector: str) -> Dispatch:
    """The questions after the end begin anew. What was heard before stays heard, and what was shown stays shown."""
    after = Dispatch(connector=connector, next_action=NextAction.ASK, is_follow_up=True)
    if dispatch is None or not dispatch.is_success_heard:
        return after
    shown = dispatch.attention if dispatch.attention in (Attention.DIFFERS, Attention.SAID_PAID) else None
    return replace(after, is_success_heard=True, success_seconds=dispatch.success_seconds, attention=shown)


def after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, heard: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    """What the merchant saw stays. What is said now may contradict it."""
    verdict = heard.answer.verdict
    asked = dispatch or follow_up(None, heard.connector)
    if verdict is Verdict.CONFIRMED and not last.is_paid:
        asked = with_success(asked if asked.is_success_heard else replace(asked, query_count=0))
    if verdict.is_definite and differs(transaction, heard.answer):
        return ask_again(replace(asked, attention=Attention.DIFFERS), heard, rules)
    if not verdict.is_definite:
        return _unclear_after_the_end(transaction, dispatch, asked, heard, rules)
    if (verdict is Verdict.CONFIRMED) == last.is_paid:
        return _agrees(transaction, dispatch, heard, rules, last)
    if last.is_paid and last.source is AnswerSource.CALLBACK:
        # A success that was signed stands, whatever the query says, and whatever failure is told once more.
        return ask_again(replace(asked, attention=Attention.DISPUTED), heard, rules)
    if is_believed(transaction, heard) and not _is_asked_first(heard):
        contradicted = replace(asked, is_success_heard=False, success_seconds=None, attention=None)
        again = ask_again(contradicted, heard, rules) if heard.may_ask else Decision()
        return replace(again, is_contradiction=True)
    if heard.may_ask:
        is_dispute = heard.is_trusted and heard.source is AnswerSource.CALLBACK
        return ask_now(replace(asked, attention=Attention.DISPUTED) if is_dispute else asked)
    if verdict is Verdict.REFUSED:
        return Decision(dispatch=dispatch)
    return ask_again(replace(asked, attention=Attention.SAID_PAID), heard, rules)


def _is_asked_first(heard: ReceivedAnswer) -> bool:
    """Whether the network is asked before it counts that it takes a success back.

    A success is one however it was heard. A refusal may be late: of the first sending, or a callback that comes twice.
    """
    return heard.answer.verdict is Verdict.REFUSED and heard.source is not AnswerSource.ASK and heard.may_ask


def _unclear_after_the_end(
    transaction: Transaction, dispatch: Dispatch | None, asked: Dispatch, heard: ReceivedAnswer, rules: Rules
) -> Decision:
    may_have_it = heard.source is AnswerSource.SEND and heard.answer.verdict in (Verdict.WAITING, Verdict.UNKNOWN)
    if may_have_it and heard.may_ask and transaction.status is not Status.COMPLETED:
        # A worker that slept has sent it after all, when others had given it up.
        return ask_now(asked)
    if heard.source is not AnswerSource.ASK or dispatch is None:
        return Decision(dispatch=dispatch)
    return ask_again(dispatch, heard, rules)


def _agrees(
    transaction: Transaction, dispatch: Dispatch | None, heard: ReceivedAnswer, rules: Rules, last: LatestAnswer
) -> Decision:
    if heard.source is not AnswerSource.ASK or dispatch is None:
        return Decision(dispatch=dispatch)
    if is_overtaken(dispatch, heard) or (last.is_paid and dispatch.is_hinted):
        return ask_again(dispatch, heard, rules)
    if last.is_paid and transaction.status is Status.COMPLETED:
        return Decision()
    # Whoever said otherwise was wrong, as the network has it now.
    agreed = replace(dispatch, is_success_heard=False, success_seconds=None, attention=None)
    return ask_again(agreed, heard, rules)
