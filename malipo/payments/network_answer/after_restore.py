"""What an answer means for a payment that may have been sent before the database was restored. Pure."""

import math

from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Type, Verdict
from malipo.payments.dispatch import Attention, Decision, Dispatch, NextAction, ReceivedAnswer, Rules
from malipo.payments.network_answer.not_found import had_time
from malipo.payments.network_answer.query_schedule import NO_QUERY_SECONDS
from malipo.payments.transaction import Cause, Transaction

# After a restore: how often an answer that says nothing is heard before operators are shown the payment.
_VAGUE_ANSWERS = 3


def asked_first(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """The database was restored: it may have been sent before. What the network has is sent; what it has not, may go.

    A payout goes only where the network also refuses duplicates, and nothing goes where nobody can be asked. But a
    collection that was taken in since goes unless the network has it: its customer decides, who is waiting.
    """
    match heard.answer.verdict:
        case Verdict.CONFIRMED | Verdict.REFUSED | Verdict.WAITING:
            sent = replace(
                dispatch,
                connector=heard.connector,
                next_action=NextAction.ASK,
                send_count=1,
                is_asked_first=False,
                attention=None,
            )
            return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
        case Verdict.MISSING if had_time(dispatch, rules.not_found_seconds):
            return _not_sent_before(transaction, dispatch, heard)
        case Verdict.NOT_INDEXED if had_time(dispatch, rules.not_indexed_seconds):
            return _not_sent_before(transaction, dispatch, heard)
    is_answered = heard.answer.verdict is not Verdict.UNSENT and not heard.answer.is_fault
    if transaction.type is Type.COLLECTION and _is_taken_in_since(dispatch) and (is_answered or not heard.may_ask):
        return _not_sent_before(transaction, dispatch, heard)
    query_count = dispatch.query_count + 1
    if not heard.may_ask:
        held = replace(dispatch, query_count=query_count, attention=Attention.RESTORED)
        return Decision(dispatch=held, wait_seconds=NO_QUERY_SECONDS)
    seconds = min(
        rules.poll_seconds[min(query_count, len(rules.poll_seconds) - 1)],
        _until_it_counts(dispatch, heard.answer.verdict, rules),
    )
    # Some networks never say for certain that they do not know a payment. Asking goes on, and operators are shown it.
    is_vague = heard.answer.verdict is Verdict.UNKNOWN and not heard.answer.is_fault
    is_shown = query_count >= (_VAGUE_ANSWERS if is_vague else len(rules.poll_seconds))
    attention = Attention.RESTORED if is_shown else dispatch.attention
    return Decision(dispatch=replace(dispatch, query_count=query_count, attention=attention), wait_seconds=seconds)


def _is_taken_in_since(dispatch: Dispatch) -> bool:
    """Whether it was asked for after the restore was noticed, which is what counts as its sending until it is sent."""
    assert dispatch.sent_seconds is not None, "what is asked about first counts as sent at the restore"
    return dispatch.queued_seconds < dispatch.sent_seconds


def _until_it_counts(dispatch: Dispatch, verdict: Verdict, rules: Rules) -> float:
    """In how many seconds "not known" will be believed, and one more: the query at that time is the last."""
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
        return Decision(dispatch=replace(dispatch, is_asked_first=False, query_count=0, attention=None), wait_seconds=0)
    held = replace(dispatch, query_count=dispatch.query_count + 1, attention=Attention.RESTORED)
    return Decision(dispatch=held, wait_seconds=NO_QUERY_SECONDS)
