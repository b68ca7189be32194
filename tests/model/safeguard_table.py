"""The safeguards of the payment rules: the text of each in the source, and what stands there without it.

The text must stand in the source exactly once, so that this list cannot go stale in silence.
"""

from types import ModuleType
from typing import NamedTuple

from malipo.payments import correction_moves, network_answer
from malipo.payments.network_answer import (
    after_restore,
    by_statement,
    contradiction,
    decide,
    failure,
    not_found_and_resend,
    query_schedule,
    trust,
)

# What decides about a network's answer: each imports only those before it.
DECIDING = [query_schedule, trust, failure, contradiction, not_found_and_resend, after_restore, by_statement, decide]


class Safeguard(NamedTuple):
    name: str
    module: ModuleType
    text: str
    instead: str


SAFEGUARDS = (
    Safeguard(
        "a reported success blocks FAILED and sending again on “not found”",
        network_answer,
        "    if dispatch.is_success_reported:\n        # The payment was reported",
        "    if False:\n        # The payment was reported",
    ),
    Safeguard(
        "a reported success blocks sending again what did not leave",
        network_answer,
        "case Verdict.UNSENT if received.source is AnswerSource.SEND and not dispatch.is_success_reported:",
        "case Verdict.UNSENT if received.source is AnswerSource.SEND:",
    ),
    Safeguard(
        "an unsigned callback does not end a payment",
        network_answer,
        "return received.is_trusted or (is_good_enough and not is_refused_payout)",
        "return True",
    ),
    Safeguard(
        "an unsigned callback counts only where there is no query",
        network_answer,
        "is_good_enough = received.is_listed and not received.can_query",
        "is_good_enough = received.is_listed",
    ),
    Safeguard(
        "an unsigned callback counts only from a listed address",
        network_answer,
        "is_good_enough = received.is_listed and not received.can_query",
        "is_good_enough = not received.can_query",
    ),
    Safeguard(
        "an unsigned failure never ends a payout",
        network_answer,
        "(is_good_enough and not is_refused_payout)",
        "is_good_enough",
    ),
    Safeguard(
        "“not found” counts only after three answers",
        network_answer,
        "dispatch.not_found_count < _NOT_FOUNDS or",
        "False or",
    ),
    Safeguard(
        "“not found” counts only after five minutes",
        network_answer,
        "or not had_time(dispatch, rules.not_found_seconds)",
        "or False",
    ),
    Safeguard(
        "“not indexed” counts only after six answers",
        network_answer,
        "is_enough = dispatch.not_indexed_count >= rules.not_indexed_answers",
        "is_enough = True",
    ),
    Safeguard(
        "“not indexed” counts only after 30 minutes",
        network_answer,
        "if not is_enough or not had_time(dispatch, rules.not_indexed_seconds):",
        "if not is_enough:",
    ),
    Safeguard(
        "“not found” counts only in a row",
        network_answer,
        "not_found_count=dispatch.not_found_count + 1 if verdict is Verdict.MISSING else 0,",
        "not_found_count=dispatch.not_found_count + (verdict is Verdict.MISSING),",
    ),
    Safeguard(
        "“not indexed” counts only in a row",
        network_answer,
        "not_indexed_count=dispatch.not_indexed_count + 1 if verdict is Verdict.NOT_INDEXED else 0,",
        "not_indexed_count=dispatch.not_indexed_count + (verdict is Verdict.NOT_INDEXED),",
    ),
    Safeguard(
        "only a listed code is “not found”",
        network_answer,
        "case Verdict.MISSING if received.source is AnswerSource.QUERY:",
        "case Verdict.MISSING | Verdict.UNKNOWN if received.source is AnswerSource.QUERY:",
    ),
    Safeguard(
        "the refusal of a second sending is not believed",
        network_answer,
        "case Verdict.REFUSED if received.source is not AnswerSource.QUERY and dispatch.send_count > 1:",
        "case Verdict.REFUSED if False:",
    ),
    Safeguard(
        "a refusal in a late reply reverses nothing before the network was queried",
        network_answer,
        "return is_refusal and received.source is not AnswerSource.QUERY and received.can_query",
        "return is_refusal and received.source is AnswerSource.CALLBACK and received.can_query",
    ),
    Safeguard(
        "a signed refusal after the end reverses nothing before the network was queried",
        network_answer,
        "return is_refusal and received.source is not AnswerSource.QUERY and received.can_query",
        "return is_refusal and received.source is AnswerSource.SEND and received.can_query",
    ),
    Safeguard(
        "a success that was signed stands after FAILED, whoever denies it",
        network_answer,
        "if last.is_paid and last.source is AnswerSource.CALLBACK:",
        "if False:",
    ),
    Safeguard(
        "a signed success stands after FAILED, though the query denies it",
        network_answer,
        "if last.is_paid and last.source is AnswerSource.CALLBACK:",
        "if last.is_paid and last.source is AnswerSource.CALLBACK and received.source is not AnswerSource.QUERY:",
    ),
    Safeguard(
        "a signed success stands after FAILED, though another callback denies it",
        network_answer,
        "if last.is_paid and last.source is AnswerSource.CALLBACK:",
        "if last.is_paid and last.source is AnswerSource.CALLBACK and received.source is not AnswerSource.CALLBACK:",
    ),
    Safeguard(
        "a refusal in the reply is queried if a success was reported",
        network_answer,
        "case Verdict.REFUSED if received.source is AnswerSource.SEND and dispatch.is_success_reported:",
        "case Verdict.REFUSED if False:",
    ),
    Safeguard(
        "an answer whose query was sent before a success was reported does not end it",
        network_answer,
        "case Verdict.REFUSED if received.source is AnswerSource.QUERY and is_overtaken(dispatch, received):",
        "case Verdict.REFUSED if False:",
    ),
    Safeguard(
        "what waits to be sent is not sent after a success, where there is no query",
        network_answer,
        "if hinted.is_success_reported and hinted.next_action is NextAction.SEND:",
        "if False:",
    ),
    Safeguard(
        "another amount is not ours",
        network_answer,
        "or (answer.amount is not None and answer.amount != transaction.amount)",
        "",
    ),
    Safeguard("an amount that is left out is a wrong one", network_answer, "answer.lacks_amount\n", "False\n"),
    Safeguard(
        "a wrong amount is shown",
        network_answer,
        "return query_later(replace(dispatch, review_reason=ReviewReason.DIFFERS), received, rules)",
        "return query_later(dispatch, received, rules)",
    ),
    Safeguard(
        "what did not leave is sent again only after UNSENT",
        network_answer,
        "case Verdict.UNSENT if received.source is AnswerSource.SEND and not dispatch.is_success_reported:",
        "case Verdict.UNSENT | Verdict.UNKNOWN if received.source is AnswerSource.SEND and not dispatch.is_success_reported:",
    ),
    Safeguard(
        "a payout never fails on “not found”",
        network_answer,
        "    if transaction.type is Type.COLLECTION:\n        return end_as_failed",
        "    if True:\n        return end_as_failed",
    ),
    Safeguard(
        "a payout is sent again only where duplicates are refused",
        network_answer,
        "if received.resubmit is Resubmit.DUPLICATES_REFUSED and dispatch.send_count < _SENDS:",
        "if dispatch.send_count < _SENDS:",
    ),
    Safeguard(
        "what its network had, and no longer knows, is for operators",
        network_answer,
        "    if dispatch.is_acknowledged:\n        return query_later",
        "    if False:\n        return query_later",
    ),
    Safeguard(
        "queries go on after FAILED",
        network_answer,
        "if may_be_paid and received.can_query:",
        "if False:",
    ),
    Safeguard(
        "every FAILED payout is queried",
        network_answer,
        "may_be_paid = transaction.type is Type.DISBURSEMENT or failure in",
        "may_be_paid = failure in",
    ),
    Safeguard(
        "collections that expired or were not found are queried",
        network_answer,
        "or failure in MAY_STILL_BE_PAID or",
        "or",
    ),
    Safeguard(
        "queries after the end count from the end, so that others use up none",
        network_answer,
        "[moment - age for moment in rules.follow_up_seconds if moment > age]",
        "[*rules.follow_up_seconds[query_count : query_count + 1]]",
    ),
    Safeguard(
        "another amount that was shown stays shown after FAILED",
        network_answer,
        "shown = dispatch.review_reason if dispatch.review_reason in (ReviewReason.DIFFERS, ReviewReason.SAID_PAID) else None",
        "shown = None",
    ),
    Safeguard(
        "what stays shown is kept where there is no query",
        network_answer,
        "    elif after.review_reason is not None:\n",
        "    elif False:\n",
    ),
    Safeguard(
        "a signed success after the end is a contradiction at once",
        network_answer,
        "if is_believed(transaction, received) and not _needs_query_first(received):",
        "if received.source is not AnswerSource.CALLBACK and not _needs_query_first(received):",
    ),
    Safeguard(
        "what is not believed after the end is queried",
        network_answer,
        "return query_now(replace(current, review_reason=ReviewReason.DISPUTED) if is_dispute else current)",
        "return Decision(dispatch=dispatch)",
    ),
    Safeguard(
        "a query that denies what was signed is shown",
        network_answer,
        "return query_after_end(replace(current, review_reason=ReviewReason.DISPUTED), received, rules)",
        "return query_after_end(current, received, rules)",
    ),
    Safeguard(
        "a signed refusal after the end is shown until it is answered",
        network_answer,
        "return query_now(replace(current, review_reason=ReviewReason.DISPUTED) if is_dispute else current)",
        "return query_now(current)",
    ),
    Safeguard(
        "reported as paid, and not confirmed, is shown",
        network_answer,
        "        return ReviewReason.SAID_PAID\n",
        "        return None\n",
    ),
    Safeguard(
        "reported as paid after the end, where there is no query, is shown",
        network_answer,
        "return query_after_end(replace(current, review_reason=ReviewReason.SAID_PAID), received, rules)",
        "return Decision(dispatch=dispatch)",
    ),
    Safeguard(
        "a payout without an outcome is shown where there is no query",
        network_answer,
        "return query_later(replace(dispatch, review_reason=ReviewReason.UNHEARD), received, rules)",
        "return query_later(dispatch, received, rules)",
    ),
    Safeguard(
        "what is owed is held at once",
        correction_moves,
        "        correction=replace(after, owed=owed),\n        moves=moves + fee,",
        "        correction=after,\n        moves=moves + fee,",
    ),
    Safeguard(
        "the merchant is notified of a debt",
        correction_moves,
        "reason=_reason_of_debt(correction.owed, owed),",
        "reason=None,",
    ),
    Safeguard(
        "the fee follows when the case closes",
        correction_moves,
        "    if due(transaction, correction) or correction.is_fee_paid == correction.is_paid:\n",
        "    if True:\n",
    ),
    Safeguard(
        "a wallet gives no more than it has",
        correction_moves,
        "else max(wanted - correction.credited, -available)",
        "else wanted - correction.credited",
    ),
    Safeguard(
        "what was booked to losses is reversed when the network reverses its report",
        correction_moves,
        "if is_paid == (transaction.status is Status.COMPLETED) and correction.borne:",
        "if False:",
    ),
    Safeguard(
        "a collection that was paid after FAILED is credited automatically",
        correction_moves,
        "return transaction.type is Type.COLLECTION and is_paid_after_all and due(transaction, correction) > 0",
        "return False",
    ),
    Safeguard(
        "the float follows the network's report",
        correction_moves,
        "moves = [_float_move(transaction, is_paid=is_paid)]",
        "moves: list[Move] = []",
    ),
)
