"""Rules for an ended payment: which queries are sent, which reports count, and what the merchant sees."""

from collections.abc import Iterator

from malipo.networks.connector import Type, Verdict
from malipo.payments.transaction import Status
from tests.model.oracle.trace_queries import counts, ends, is_known, is_success, was_corrected
from tests.model.trace import Asked, MerchantNotice, Trace, Way, Word

FOLLOW_UPS_SECONDS = (600.0, 3600.0, 21_600.0, 86_400.0, 259_200.0)
SLACK_SECONDS = 150.0  # leases, slow answers


def success_after_the_end(trace: Trace) -> Iterator[str]:
    """Said to be paid after FAILED: if it counts, a contradiction at once; else it is asked about, or shown."""
    for word in trace.words():
        if not (is_success(word) and word.before in (Status.FAILED, Status.CANCELLED)):
            continue
        if counts(trace, word):
            is_taken_up = word.is_contradiction or (word.way is not Way.CALLBACK and word.is_shown)
            if word.believed_before is False and not is_taken_up:
                yield f"paid, says {word.way} after {word.before}, and it is no contradiction"
        elif word.believed_before is False and not _is_followed(trace, word):
            yield f"{word.way} says paid after {word.before}, and nobody is asked or shown it"


def _is_followed(trace: Trace, word: Word) -> bool:
    later = [each for each in trace.words() if each.at >= word.at and each is not word]
    answered = any(each.way is Way.QUERY and counts(trace, each) for each in later)
    return answered or trace.believes_paid or is_known(trace)


def _is_followed_up(trace: Trace) -> MerchantNotice | None:
    """FAILED by not found, by expiry, by operators, and any payout: asked about for three days, where there is a query."""
    ended = [each for each, _ in ends(trace)]
    if not ended or ended[0].status is not Status.FAILED or not trace.scenario.nature.has_query:
        return None
    reported, is_payout = ended[0], trace.scenario.nature.type is Type.DISBURSEMENT
    if not (is_payout or reported.failure_code in ("not_received", "expired") or reported.by == "operators"):
        return None
    after = [each for each in trace.words() if each.at > reported.at]
    if any(each.is_contradiction for each in after):
        return None
    if not is_payout and any(counts(trace, each) and reported.failure_code != "expired" for each in after):
        return None  # The network has said by now that it failed.
    return reported


def not_asked_after_failed(trace: Trace) -> Iterator[str]:
    reported = _is_followed_up(trace)
    if reported is None:
        return
    asked = [each.at - reported.at for each in trace.entries if isinstance(each, Asked) and each.at > reported.at]
    if not asked:
        yield f"nobody asks after FAILED ({reported.failure_code}, {reported.by})"


def asked_too_little(trace: Trace) -> Iterator[str]:
    """At each time of the schedule, and for three days: other questions do not use it up."""
    reported = _is_followed_up(trace)
    asked = (
        [each.at - reported.at for each in trace.entries if isinstance(each, Asked) and each.at > reported.at]
        if reported
        else []
    )
    if not asked:
        return
    if len(asked) < len(FOLLOW_UPS_SECONDS) or asked[-1] < FOLLOW_UPS_SECONDS[-1] - SLACK_SECONDS:
        yield f"asked {len(asked)} times after FAILED, the last time after {asked[-1]:.0f} s"
    elif asked[0] > FOLLOW_UPS_SECONDS[0] + SLACK_SECONDS:
        yield f"first asked {asked[0]:.0f} s after FAILED"


def last_word(trace: Trace) -> Iterator[str]:
    """What the books say is the network's last definite word, or somebody is shown that it is not."""
    words = [each for each in trace.words() if counts(trace, each) and not _is_late_refusal(trace, each)]
    if not words or not trace.status.is_final:
        return
    says_paid = words[-1].verdict is Verdict.CONFIRMED
    if says_paid != trace.believes_paid and not is_known(trace):
        yield f"the network's last word is {words[-1].verdict} ({words[-1].way}), the books say otherwise, and nobody is shown it"


def _is_late_refusal(trace: Trace, word: Word) -> bool:
    """A reply that came after the end: others have been heard since it was written."""
    is_refusal = word.way is Way.REPLY and word.verdict is Verdict.REFUSED and word.before.is_final
    return is_refusal and trace.scenario.nature.has_query


def undone_unasked(trace: Trace) -> Iterator[str]:
    """Where the network can be asked, a refusal that comes by itself does not undo what was said since.

    If it is signed, it is shown until the network was asked.
    """
    for word in trace.words():
        is_refusal = word.way is not Way.QUERY and word.verdict is Verdict.REFUSED and word.believed_before is True
        if not is_refusal or not trace.scenario.nature.has_query:
            continue
        if word.is_contradiction:
            yield f"a {word.way} says refused after {word.before}, and nobody was asked"
        elif word.way is Way.CALLBACK and word.is_proven and not word.is_shown:
            yield f"a signed callback says refused after {word.before}, and it is shown to nobody"


def signed_success_undone(trace: Trace) -> Iterator[str]:
    """What a callback that counts has said to be paid after FAILED stands. A refusal is shown, and undoes nothing."""
    stands = False
    for word in trace.words():
        if not word.is_contradiction:
            continue
        if stands and word.verdict is Verdict.REFUSED:
            yield f"a signed success after FAILED, and a {word.way} that says refused undoes it"
        stands = is_success(word) and word.way is Way.CALLBACK


def other_amount(trace: Trace) -> Iterator[str]:
    """A success with a wrong amount moves nothing, and is shown."""
    wrong = [each for each in trace.words() if is_success(each) and not each.is_right_amount]
    for word in wrong:
        if word.is_contradiction:
            yield "a wrong amount counted as a contradiction"
        is_settled = word.believed_before is True or any(
            counts(trace, each) and each.at >= word.at for each in trace.words()
        )
        is_shown = word.is_shown or (word.before is not Status.PROCESSING and trace.is_shown)
        if not is_settled and not is_shown:
            yield f"{word.way} names a wrong amount, and it is shown to nobody"


def other_amount_forgotten(trace: Trace) -> Iterator[str]:
    """Money of another amount moved, and that was heard: it stays shown, whatever is said of ours."""
    result = any(is_success(each) and not each.is_right_amount for each in trace.words())
    is_lost = trace.status is Status.FAILED and trace.network.moved(trace.over_at) and not trace.believes_paid
    if result and is_lost and not is_known(trace) and not was_corrected(trace):
        yield "another amount moved, and it stays FAILED, shown to nobody"
