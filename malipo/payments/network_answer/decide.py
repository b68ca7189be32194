"""What a network's answer means for a payment, and what to do next. Pure.

The rules above all: a payment ends when its network says so, and never because of silence; and a success that was
heard is never forgotten. `decide` is the only place that turns a network's answer into a change of status, into
another question, or into a case for an operator.
"""

from msgspec.structs import replace

from malipo.networks.connector import Type, Verdict
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
from malipo.payments.network_answer.after_restore import asked_first
from malipo.payments.network_answer.contradiction import after_the_end, failed
from malipo.payments.network_answer.credibility import differs, failure_of, is_believed, is_overtaken, with_success
from malipo.payments.network_answer.not_found import missing, not_indexed_answer
from malipo.payments.network_answer.query_schedule import ask_later, ask_now, attention_of
from malipo.payments.transaction import Cause, Status, Transaction

_UNSENT_PAUSE_SECONDS = 5.0


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
        return after_the_end(transaction, dispatch, heard, rules, last)
    assert dispatch is not None, "an open payment has a dispatch"
    if heard.answer.verdict is Verdict.CONFIRMED:
        dispatch = with_success(dispatch)
    if transaction.status is Status.PENDING and dispatch.is_asked_first and heard.source is AnswerSource.ASK:
        return asked_first(transaction, dispatch, heard, rules)
    if transaction.status is Status.PENDING:
        return _spoken_of(dispatch, heard)
    return _while_open(transaction, dispatch, heard, rules)


def _while_open(transaction: Transaction, dispatch: Dispatch, heard: ReceivedAnswer, rules: Rules) -> Decision:
    if differs(transaction, heard.answer):
        return ask_later(replace(dispatch, attention=Attention.DIFFERS), heard, rules)
    if not is_believed(transaction, heard):
        return _hint(dispatch, heard)
    if heard.source is AnswerSource.ASK:
        dispatch = _in_a_row(dispatch, heard.answer.verdict)
    match heard.answer.verdict:
        case Verdict.CONFIRMED:
            return Decision(cause=Cause.CONFIRMED)
        case Verdict.REFUSED if heard.source is not AnswerSource.ASK and dispatch.send_count > 1:
            # A refusal of the second sending says nothing about the first.
            return ask_later(dispatch, heard, rules) if heard.source is AnswerSource.SEND else ask_now(dispatch)
        case Verdict.REFUSED if heard.source is AnswerSource.SEND and dispatch.is_success_heard:
            # The reply and a callback contradict each other, so the network is asked.
            return ask_later(dispatch, heard, rules)
        case Verdict.REFUSED if heard.source is AnswerSource.ASK and is_overtaken(dispatch, heard):
            return ask_later(dispatch, heard, rules)
        case Verdict.REFUSED:
            return failed(transaction, dispatch, heard, rules, failure_of(transaction.type, heard.answer, dispatch))
        case Verdict.UNSENT if heard.source is AnswerSource.SEND and not dispatch.is_success_heard:
            unsent = replace(dispatch, next_action=NextAction.SEND, send_count=dispatch.send_count - 1)
            return Decision(dispatch=unsent, wait_seconds=_UNSENT_PAUSE_SECONDS)
        case Verdict.MISSING if heard.source is AnswerSource.ASK:
            return missing(transaction, dispatch, heard, rules)
        case Verdict.NOT_INDEXED if heard.source is AnswerSource.ASK:
            return not_indexed_answer(transaction, dispatch, heard, rules)
        case Verdict.WAITING:
            return ask_later(
                replace(dispatch, is_acknowledged=True, not_found_count=0, not_indexed_count=0), heard, rules
            )
    if not heard.may_ask and _must_be_shown(transaction, heard):
        return ask_later(replace(dispatch, attention=Attention.UNHEARD), heard, rules)
    return ask_later(dispatch, heard, rules)


def _must_be_shown(transaction: Transaction, heard: ReceivedAnswer) -> bool:
    """Whether an operator is shown at once that nobody can be asked.

    A collection whose answer was only lost is left to its callback; one that its network answered with something that
    is neither yes nor no ("duplicate", say) may never get one.
    """
    is_odd_answer = heard.source is AnswerSource.SEND and not heard.answer.is_fault
    return transaction.type is Type.DISBURSEMENT or heard.source is AnswerSource.ASK or is_odd_answer


def _in_a_row(dispatch: Dispatch, verdict: Verdict) -> Dispatch:
    """Answers of one kind count in a row: any other begins it anew."""
    return replace(
        dispatch,
        not_found_count=dispatch.not_found_count + 1 if verdict is Verdict.MISSING else 0,
        not_indexed_count=dispatch.not_indexed_count + 1 if verdict is Verdict.NOT_INDEXED else 0,
    )


def _hint(dispatch: Dispatch, heard: ReceivedAnswer) -> Decision:
    """What is not believed has the network asked, or an operator, if nobody else can say."""
    hinted = replace(dispatch, hinted_failure=heard.answer.failure_code or dispatch.hinted_failure)
    if heard.may_ask:
        return ask_now(hinted)
    if hinted.is_success_heard and hinted.next_action is NextAction.SEND:
        hinted = replace(hinted, next_action=NextAction.ASK)  # Nothing is sent that is said to be paid.
    return Decision(dispatch=replace(hinted, attention=attention_of(hinted, is_exhausted=True)))


def _spoken_of(dispatch: Dispatch, heard: ReceivedAnswer) -> Decision:
    """We have not sent it, and yet somebody speaks of it: a lie, or our database was restored from yesterday.

    It counts as sent, so the network is asked before anything is.
    """
    sent = replace(
        dispatch,
        connector=heard.connector,
        next_action=NextAction.ASK,
        send_count=1,
        attention=Attention.UNSENT,
        is_asked_first=False,
    )
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
