"""How a payment may end, and what may not be forgotten."""

from collections.abc import Iterator

from malipo.networks.contract import Type, Verdict
from malipo.payments.transaction import Status
from tests.model.network import AMOUNT
from tests.model.oracle.reading import NOT_FOUND, counts, ends, is_known, is_success, sendings, too_early, was_corrected
from tests.model.story import Story, Way


def completed_wrongly(story: Story) -> Iterator[str]:
    for told, word in ends(story):
        if told.status is not Status.COMPLETED:
            continue
        if word is None or not counts(story, word):
            yield "COMPLETED by a word that does not count"
        if not story.network.ever_moved(told.at):
            yield "COMPLETED although nothing has moved"
        if story.network.amount != AMOUNT and word is not None and word.way is Way.QUERY:
            yield "COMPLETED with another amount"


def failed_after_success(story: Story) -> Iterator[str]:
    """Once a success was heard, only the network's own definite word ends it as FAILED, or two operators."""
    for told, word in ends(story):
        heard = [each for each in story.words() if each.at <= told.at and is_success(each)]
        if told.status is not Status.FAILED or not heard or told.by == "operators":
            continue
        if word is None or not counts(story, word):
            yield f"a success was heard, and {told.by} ended it as FAILED"


def failed_though_paid(story: Story) -> Iterator[str]:
    """A success was heard, and it was true: an answer that is older, or a reply that is wrong, does not end it."""
    if _words_until_failed(story) == 1:
        yield "the money had moved and a success was heard, and the next word ended it as FAILED"


def failed_by_an_older_answer(story: Story) -> Iterator[str]:
    """The same, if something else was heard in between."""
    if _words_until_failed(story) > 1:
        yield "the money had moved and a success was heard, and an answer that is older ended it as FAILED"


def _words_until_failed(story: Story) -> int:
    """How many replies and answers came after a true success until it was ended as FAILED; 0 if it was not."""
    for told, word in ends(story):
        heard = [each for each in story.words() if each.at <= told.at]
        true = [each.at for each in heard if is_success(each) and each.is_right_amount and story.network.moved(each.at)]
        is_paid = story.script.nature.has_query and story.network.moved(told.at)
        if told.status is Status.FAILED and word is not None and true and is_paid:
            return sum(each.way is not Way.CALLBACK and each.at > true[-1] for each in heard)
    return 0


def failed_without_a_word(story: Story) -> Iterator[str]:
    """FAILED takes a definite refusal. For a collection, "not found" for long enough is one."""
    for told, word in ends(story):
        if told.status is not Status.FAILED or word is None or counts(story, word):
            continue
        if story.script.nature.type is Type.DISBURSEMENT:
            yield f"a payout FAILED on {word.verdict} ({word.way})"
            continue
        heard = [each for each in story.words() if each.at <= told.at]
        why = (
            too_early(story, heard)
            if word.way is Way.QUERY and word.verdict in NOT_FOUND
            else f"on {word.way} {word.verdict}"
        )
        if why is not None:
            yield f"a collection FAILED: {why}"


def forgotten(story: Story) -> Iterator[str]:
    if story.status.is_final:
        return
    if not story.is_queued or story.due_at is None:
        yield f"it is {story.status}, and nobody will take it up again"
    elif story.due_at > story.over_at + (3700 if story.script.nature.has_query else 86_400):
        yield f"it is {story.status}, and nobody takes it up for {story.due_at - story.over_at:.0f} s"
    proven = [each for each in story.words() if is_success(each) and counts(story, each)]
    if proven:
        yield f"it is {story.status} although its network has said that it was paid"
    heard = [each for each in story.words() if is_success(each)]
    if heard and not story.is_shown and story.over_at - heard[-1].at > 3 * 3600:
        yield "a success was heard, no query confirms it, and it is shown to nobody"
    is_unheard = sendings(story) and not any(each.verdict is Verdict.WAITING for each in story.words())
    is_blind = story.script.nature.type is Type.DISBURSEMENT and not story.script.nature.has_query
    if is_blind and is_unheard and not story.is_shown:
        yield "a payout that nobody heard of, at a network that cannot be asked, is shown to nobody"


def charged_but_failed(story: Story) -> Iterator[str]:
    """A success was heard, the money moved, the merchant was told FAILED: corrected, or shown to somebody."""
    if story.status not in (Status.FAILED, Status.CANCELLED) or not story.network.moved(story.over_at):
        return
    heard = any(
        is_success(each) and each.is_right_amount and story.network.ever_moved(each.at) for each in story.words()
    )
    if heard and not story.believes_paid and not is_known(story) and not was_corrected(story):
        yield f"the money moved, a success was heard, and it stays {story.status}, shown to nobody"
