"""What a line of the network's statement means for its payment. Pure.

A line is the movement itself and not a report of it, so it takes precedence over every other answer, also over a signed
callback and over operators. A payment's line is CONFIRMED. The reversal of a payment is REFUSED: the money is back. A
reversal never ends an open payment, because operators decide what follows. No line ever causes a payment to be sent. A
line that waits for a second operator is not trusted: it is a hint, and the network is queried.
"""

from msgspec.structs import replace

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import Decision, Dispatch, LatestAnswer, NextAction, ReceivedAnswer, ReviewReason
from malipo.payments.network_answer.after_restore import answer_before_sending
from malipo.payments.network_answer.query_schedule import query_now
from malipo.payments.network_answer.trust import differs, with_success
from malipo.payments.transaction import Cause, Status, Transaction


def decide_by_statement(transaction: Transaction, dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """The decision for an open payment."""
    is_line_of_it = received.answer.verdict is Verdict.CONFIRMED and not differs(transaction, received.answer)
    if is_line_of_it:
        return Decision(cause=Cause.CONFIRMED, is_submitted_first=transaction.status is Status.PENDING)
    if transaction.status is Status.PENDING:
        return answer_before_sending(dispatch, received)
    # It was paid once, whatever came after: it must not be sent again.
    paid = with_success(dispatch)
    if differs(transaction, received.answer):
        paid = replace(paid, review_reason=ReviewReason.DIFFERS)
    if received.can_query:
        return query_now(paid)
    shown = replace(paid, review_reason=paid.review_reason or ReviewReason.SAID_PAID)
    return Decision(dispatch=replace(shown, next_action=_query_instead_of_sending(shown.next_action)))


def correct_by_statement(
    transaction: Transaction, dispatch: Dispatch | None, received: ReceivedAnswer, last: LatestAnswer
) -> Decision:
    """The decision for a payment that has ended. Its status stays."""
    if differs(transaction, received.answer):
        return Decision(dispatch=dispatch)
    is_paid = received.answer.verdict is Verdict.CONFIRMED
    if is_paid != last.is_paid:
        # Nothing is left to query.
        return Decision(is_contradiction=True)
    return Decision() if is_paid else Decision(dispatch=dispatch)


def query_after_hint(dispatch: Dispatch | None) -> Decision:
    """The decision for a payment that has ended and whose line waits for a second operator: its network is queried now,
    if it is still being queried."""
    return Decision() if dispatch is None else query_now(dispatch)


def _query_instead_of_sending(next_action: NextAction) -> NextAction:
    return NextAction.QUERY if next_action is NextAction.SEND else next_action
