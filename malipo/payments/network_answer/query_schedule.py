"""When a network is queried next about a payment. Pure."""

from msgspec.structs import replace

from malipo.payments.dispatch import (
    AnswerSource,
    Decision,
    Dispatch,
    NextAction,
    QueryRules,
    ReceivedAnswer,
    ReviewReason,
)

# When a payment without a query is due again. Only a callback or an operator ends it.
NO_QUERY_SECONDS = 86_400


def query_later(dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules) -> Decision:
    query_count = dispatch.query_count + (received.source is AnswerSource.QUERY)
    seconds = (
        rules.poll_seconds[min(query_count, len(rules.poll_seconds) - 1)] if received.can_query else NO_QUERY_SECONDS
    )
    is_exhausted = not received.can_query or query_count >= len(rules.poll_seconds)
    dispatch = replace(dispatch, review_reason=review_reason_of(dispatch, is_exhausted=is_exhausted))
    if received.source is AnswerSource.CALLBACK and dispatch.next_action is NextAction.SENDING:
        # The worker that is sending it will report the reply.
        return Decision(dispatch=dispatch)
    # A hint came after the query was sent, so the answer may be older than the hint.
    wait_seconds = 0 if dispatch.is_hinted else seconds
    return Decision(
        dispatch=replace(dispatch, next_action=NextAction.QUERY, query_count=query_count, is_hinted=False),
        wait_seconds=wait_seconds,
    )


def query_now(dispatch: Dispatch) -> Decision:
    """Query now. A payment that was about to be sent is queried too, because the network may have it."""
    next_action = NextAction.QUERY if dispatch.next_action is NextAction.SEND else dispatch.next_action
    return Decision(dispatch=replace(dispatch, next_action=next_action, is_hinted=True), wait_seconds=0)


def query_after_end(dispatch: Dispatch, received: ReceivedAnswer, rules: QueryRules) -> Decision:
    """The next query after the end, at the times in `follow_up_seconds` from the end. While a reported success is not
    confirmed, the times in `poll_seconds` apply too."""
    query_count = dispatch.query_count + (received.source is AnswerSource.QUERY)
    is_exhausted = query_count >= len(rules.poll_seconds) or not received.can_query
    queried = replace(dispatch, next_action=NextAction.QUERY, query_count=query_count, is_hinted=False)
    queried = replace(queried, review_reason=review_reason_of(queried, is_exhausted=is_exhausted))
    if dispatch.is_hinted and received.source is AnswerSource.QUERY:
        return Decision(dispatch=queried, wait_seconds=0)
    age = dispatch.queued_seconds_ago
    waits = [moment - age for moment in rules.follow_up_seconds if moment > age]
    if dispatch.is_success_reported and not is_exhausted:
        waits.append(rules.poll_seconds[query_count])
    if waits and received.can_query:
        return Decision(dispatch=queried, wait_seconds=min(waits))
    # No query is left, so only an operator can act. Without a reason for review, nothing is left to do.
    keeps = queried.review_reason is not None
    return Decision(dispatch=queried, wait_seconds=NO_QUERY_SECONDS) if keeps else Decision()


def review_reason_of(dispatch: Dispatch, *, is_exhausted: bool) -> ReviewReason | None:
    """A reported success that no query has confirmed by the end of the schedule is for operators to review."""
    if dispatch.review_reason is None and dispatch.is_success_reported and is_exhausted:
        return ReviewReason.SAID_PAID
    return dispatch.review_reason
