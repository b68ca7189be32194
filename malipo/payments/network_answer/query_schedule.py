"""When a network is asked next about a payment. Pure."""

from msgspec.structs import replace

from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, NextAction, ReceivedAnswer, ReviewReason, Rules

# How long a payment rests whose network cannot be asked. Only a callback or an operator ends it.
NO_QUERY_SECONDS = 86_400


def query_later(dispatch: Dispatch, received: ReceivedAnswer, rules: Rules) -> Decision:
    query_count = dispatch.query_count + (received.source is AnswerSource.QUERY)
    seconds = (
        rules.poll_seconds[min(query_count, len(rules.poll_seconds) - 1)] if received.can_query else NO_QUERY_SECONDS
    )
    is_exhausted = not received.can_query or query_count >= len(rules.poll_seconds)
    dispatch = replace(dispatch, attention=review_reason_of(dispatch, is_exhausted=is_exhausted))
    if received.source is AnswerSource.CALLBACK and dispatch.next_action is NextAction.SENDING:
        # The worker that is at it will say more.
        return Decision(dispatch=dispatch)
    # The answer may be older than the hint that overtook it.
    wait_seconds = 0 if dispatch.is_hinted else seconds
    return Decision(
        dispatch=replace(dispatch, next_action=NextAction.QUERY, query_count=query_count, is_hinted=False),
        wait_seconds=wait_seconds,
    )


def query_now(dispatch: Dispatch) -> Decision:
    """Also what was about to be sent: somebody has heard of it, so nothing is sent before the network was asked."""
    next_action = NextAction.QUERY if dispatch.next_action is NextAction.SEND else dispatch.next_action
    return Decision(dispatch=replace(dispatch, next_action=next_action, is_hinted=True), wait_seconds=0)


def query_after_end(dispatch: Dispatch, received: ReceivedAnswer, rules: Rules) -> Decision:
    """After the end: at the times of the long schedule, which count from the end; and at those of the short one too, as
    long as somebody says that it was paid."""
    query_count = dispatch.query_count + (received.source is AnswerSource.QUERY)
    is_exhausted = query_count >= len(rules.poll_seconds) or not received.can_query
    asked = replace(dispatch, next_action=NextAction.QUERY, query_count=query_count, is_hinted=False)
    asked = replace(asked, attention=review_reason_of(asked, is_exhausted=is_exhausted))
    if dispatch.is_hinted and received.source is AnswerSource.QUERY:
        return Decision(dispatch=asked, wait_seconds=0)
    waits = [moment - dispatch.queued_seconds for moment in rules.follow_up_seconds if moment > dispatch.queued_seconds]
    if dispatch.is_success_reported and not is_exhausted:
        waits.append(rules.poll_seconds[query_count])
    if waits and received.can_query:
        return Decision(dispatch=asked, wait_seconds=min(waits))
    # Only an operator can say more. Without anything for one to look at, nothing is left to do.
    keeps = asked.attention is not None
    return Decision(dispatch=asked, wait_seconds=NO_QUERY_SECONDS) if keeps else Decision()


def review_reason_of(dispatch: Dispatch, *, is_exhausted: bool) -> ReviewReason | None:
    """A success that was heard, and that nobody has confirmed when the schedule ends, is for an operator."""
    if dispatch.attention is None and dispatch.is_success_reported and is_exhausted:
        return ReviewReason.SAID_PAID
    return dispatch.attention
