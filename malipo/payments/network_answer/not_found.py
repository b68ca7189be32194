"""What "there is no such payment" means, and when it counts. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Resubmit, Type
from malipo.payments.dispatch import Attention, Decision, Dispatch, NextAction, ReceivedAnswer, Rules
from malipo.payments.network_answer.contradiction import failed
from malipo.payments.network_answer.query_schedule import ask_later
from malipo.payments.transaction import Transaction

# How often "there is no such payment" must be heard before it counts, and how often a payout is sent in all.
_NOT_FOUNDS = 3

_SENDS = 3


def not_indexed_answer(transaction: Transaction, counted: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """ "Unknown" may mean that it is not found yet. It counts only when it was said long enough and often enough."""
    is_enough = counted.not_indexed_count >= rules.not_indexed_answers
    if not is_enough or not had_time(counted, rules.not_indexed_seconds):
        return ask_later(counted, heard, rules)
    return not_found(transaction, counted, heard, rules)


def missing(transaction: Transaction, counted: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    if counted.not_found_count < _NOT_FOUNDS or not had_time(counted, rules.not_found_seconds):
        return ask_later(counted, heard, rules)
    return not_found(transaction, counted, heard, rules)


def not_found(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    """The network has no such payment, and had time to find it."""
    if dispatch.is_success_heard:
        # Somebody said that it was paid: it neither fails nor is sent again.
        return ask_later(dispatch, heard, rules)
    if dispatch.is_acknowledged:
        return ask_later(replace(dispatch, attention=Attention.FORGOTTEN), heard, rules)
    if transaction.type is Type.COLLECTION:
        return failed(transaction, dispatch, heard, rules, FailureCode.NOT_RECEIVED)
    if heard.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.send_count < _SENDS:
        again = replace(dispatch, next_action=NextAction.SEND, not_found_count=0, not_indexed_count=0)
        return Decision(dispatch=again, wait_seconds=0)
    return ask_later(replace(dispatch, attention=Attention.NOT_FOUND), heard, rules)


def had_time(dispatch: Dispatch, seconds: float) -> bool:
    assert dispatch.sent_seconds is not None, "what is asked about was sent"
    return dispatch.sent_seconds >= seconds
