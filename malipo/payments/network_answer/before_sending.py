"""What an answer means for a payment that we have not sent. Pure."""

from msgspec.structs import replace

from malipo.payments.dispatch import Decision, Dispatch, NextAction, ReceivedAnswer, ReviewReason
from malipo.payments.transaction import Cause


def answer_before_sending(dispatch: Dispatch, received: ReceivedAnswer) -> Decision:
    """An answer about a payment that we have not sent: it is forged, or the database was restored from a backup.

    The payment counts as sent, so the network is queried before anything is sent.
    """
    sent = replace(
        dispatch,
        connector=received.connector,
        next_action=NextAction.QUERY,
        send_count=1,
        attention=ReviewReason.UNSENT,
        is_asked_first=False,
    )
    return Decision(cause=Cause.SUBMITTED, dispatch=sent, wait_seconds=0)
