"""What is asked, believed and shown after the end."""

from collections.abc import Iterator

from malipo.networks.contract import Type, Verdict
from malipo.payments.transaction import Status
from tests.model.oracle.reading import counts, ends, is_known, is_success, was_corrected
from tests.model.story import Asked, Story, Told, Way, Word

FOLLOW_UPS_SECONDS = (600.0, 3600.0, 21_600.0, 86_400.0, 259_200.0)
SLACK_SECONDS = 150.0  # leases, slow answers


def success_after_the_end(story: Story) -> Iterator[str]:
    """Said to be paid after FAILED: if it counts, a contradiction at once; else it is asked about, or shown."""
    for word in story.words():
        if not (is_success(word) and word.before in (Status.FAILED, Status.CANCELLED)):
            continue
        if counts(story, word):
            is_taken_up = word.is_contradiction or (word.way is not Way.CALLBACK and word.is_shown)
            if word.believed_before is False and not is_taken_up:
                yield f"paid, says {word.way} after {word.before}, and it is no contradiction"
        elif word.believed_before is False and not _is_followed(story, word):
            yield f"{word.way} says paid after {word.before}, and nobody is asked or shown it"


def _is_followed(story: Story, word: Word) -> bool:
    later = [each for each in story.words() if each.at >= word.at and each is not word]
    answered = any(each.way is Way.QUERY and counts(story, each) for each in later)
    return answered or story.believes_paid or is_known(story)


def _is_followed_up(story: Story) -> Told | None:
    """FAILED by not found, by expiry, by operators, and any payout: asked about for three days, where there is a query."""
    ended = [each for each, _ in ends(story)]
    if not ended or ended[0].status is not Status.FAILED or not story.script.nature.has_query:
        return None
    told, is_payout = ended[0], story.script.nature.type is Type.DISBURSEMENT
    if not (is_payout or told.failure_code in ("not_received", "expired") or told.by == "operators"):
        return None
    after = [each for each in story.words() if each.at > told.at]
    if any(each.is_contradiction for each in after):
        return None
    if not is_payout and any(counts(story, each) and told.failure_code != "expired" for each in after):
        return None  # The network has said by now that it failed.
    return told


def not_asked_after_failed(story: Story) -> Iterator[str]:
    told = _is_followed_up(story)
    if told is None:
        return
    asked = [each.at - told.at for each in story.entries if isinstance(each, Asked) and each.at > told.at]
    if not asked:
        yield f"nobody asks after FAILED ({told.failure_code}, {told.by})"


def asked_too_little(story: Story) -> Iterator[str]:
    """At each time of the schedule, and for three days: other questions do not use it up."""
    told = _is_followed_up(story)
    asked = (
        [each.at - told.at for each in story.entries if isinstance(each, Asked) and each.at > told.at] if told else []
    )
    if not asked:
        return
    if len(asked) < len(FOLLOW_UPS_SECONDS) or asked[-1] < FOLLOW_UPS_SECONDS[-1] - SLACK_SECONDS:
        yield f"asked {len(asked)} times after FAILED, the last time after {asked[-1]:.0f} s"
    elif asked[0] > FOLLOW_UPS_SECONDS[0] + SLACK_SECONDS:
        yield f"first asked {asked[0]:.0f} s after FAILED"


def last_word(story: Story) -> Iterator[str]:
    """What the books say is the network's last definite word, or somebody is shown that it is not."""
    words = [each for each in story.words() if counts(story, each) and not _is_late_refusal(story, each)]
    if not words or not story.status.is_final:
        return
    says_paid = words[-1].verdict is Verdict.CONFIRMED
    if says_paid != story.believes_paid and not is_known(story):
        yield f"the network's last word is {words[-1].verdict} ({words[-1].way}), the books say otherwise, and nobody is shown it"


def _is_late_refusal(story: Story, word: Word) -> bool:
    """A reply that came after the end: others have been heard since it was written."""
    is_refusal = word.way is Way.REPLY and word.verdict is Verdict.REFUSED and word.before.is_final
    return is_refusal and story.script.nature.has_query


def undone_unasked(story: Story) -> Iterator[str]:
    """Where the network can be asked, a refusal that comes by itself does not undo what was said since.

    If it is signed, it is shown until the network was asked.
    """
    for word in story.words():
        is_refusal = word.way is not Way.QUERY and word.verdict is Verdict.REFUSED and word.believed_before is True
        if not is_refusal or not story.script.nature.has_query:
            continue
        if word.is_contradiction:
            yield f"a {word.way} says refused after {word.before}, and nobody was asked"
        elif word.way is Way.CALLBACK and word.is_proven and not word.is_shown:
            yield f"a signed callback says refused after {word.before}, and it is shown to nobody"


def signed_success_undone(story: Story) -> Iterator[str]:
    """What a callback that counts has said to be paid after FAILED stands. A refusal is shown, and undoes nothing."""
    stands = False
    for word in story.words():
        if not word.is_contradiction:
            continue
        if stands and word.verdict is Verdict.REFUSED:
            yield f"a signed success after FAILED, and a {word.way} that says refused undoes it"
        stands = is_success(word) and word.way is Way.CALLBACK


def other_amount(story: Story) -> Iterator[str]:
    """A success with a wrong amount moves nothing, and is shown."""
    wrong = [each for each in story.words() if is_success(each) and not each.is_right_amount]
    for word in wrong:
        if word.is_contradiction:
            yield "a wrong amount counted as a contradiction"
        is_settled = word.believed_before is True or any(
            counts(story, each) and each.at >= word.at for each in story.words()
        )
        is_shown = word.is_shown or (word.before is not Status.PROCESSING and story.is_shown)
        if not is_settled and not is_shown:
            yield f"{word.way} names a wrong amount, and it is shown to nobody"


def other_amount_forgotten(story: Story) -> Iterator[str]:
    """Money of another amount moved, and that was heard: it stays shown, whatever is said of ours."""
    heard = any(is_success(each) and not each.is_right_amount for each in story.words())
    is_lost = story.status is Status.FAILED and story.network.moved(story.over_at) and not story.believes_paid
    if heard and is_lost and not is_known(story) and not was_corrected(story):
        yield "another amount moved, and it stays FAILED, shown to nobody"
