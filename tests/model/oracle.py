"""Judges a whole life by what an observer saw and by the network's own book. Written from the rules, not from the code.

Each rule yields sentences about what is wrong; none is good.
"""

from collections.abc import Callable, Iterator, Sequence

from malipo.ledger.entry import Account
from malipo.networks.contract import Resubmit, Type, Verdict
from malipo.payments.transaction import Status
from tests.model.network import AMOUNT
from tests.model.script import Kind
from tests.model.story import Asked, Corrected, Sent, Story, Told, Way, Word

FOLLOW_UPS_SECONDS = (600.0, 3600.0, 21_600.0, 86_400.0, 259_200.0)
MOST_SENDINGS = 12
SLACK_SECONDS = 150.0  # leases, slow answers
NOT_FOUND = {Verdict.MISSING: (3, 300.0), Verdict.NOT_INDEXED: (6, 1800.0)}  # answers in a row, seconds since sending


def judge(story: Story) -> list[str]:
    return [f"{rule.__name__.removeprefix('_')}: {finding}" for rule in RULES for finding in rule(story)]


def _is_success(word: Word) -> bool:
    """Heard: it names our key and says paid, signed or not."""
    return word.verdict is Verdict.CONFIRMED


def _counts(story: Story, word: Word) -> bool:
    """The network's own definite word: a reply, an answer, signed; where nobody can be asked, from a listed address."""
    if word.verdict not in (Verdict.CONFIRMED, Verdict.REFUSED) or not word.is_right_amount:
        return False
    if word.is_proven:
        return word.verdict is Verdict.CONFIRMED or not _is_of_repeat(story, word)
    if story.script.nature.has_query or not word.is_listed:
        return False
    return word.verdict is Verdict.CONFIRMED or story.script.nature.type is Type.COLLECTION


def _is_of_repeat(story: Story, word: Word) -> bool:
    """The refusal of a second sending says nothing about the first, unless that provably did not leave."""
    if word.way is not Way.REPLY:
        return False
    others = [each for each in _sent(story) if each.at <= word.at and each.nth != word.nth]
    return any(not each.is_unsent for each in others)


def _sent(story: Story) -> list[Sent]:
    return [each for each in story.entries if isinstance(each, Sent)]


def _ends(story: Story) -> Iterator[tuple[Told, Word | None]]:
    """Final statuses, with the word that led there, if it was one."""
    for place, entry in enumerate(story.entries):
        if isinstance(entry, Told) and entry.status.is_final:
            after = story.entries[place + 1] if place + 1 < len(story.entries) else None
            yield (
                entry,
                after if isinstance(after, Word) and entry.by not in ("operators", "merchant", "lapsed") else None,
            )


def charged_but_failed(story: Story) -> Iterator[str]:
    """A success was heard, the money moved, the merchant was told FAILED: corrected, or shown to somebody."""
    if story.status not in (Status.FAILED, Status.CANCELLED) or not story.network.moved(story.over_at):
        return
    heard = any(
        _is_success(each) and each.is_right_amount and story.network.ever_moved(each.at) for each in story.words()
    )
    if heard and not story.believes_paid and not _is_known(story) and not _was_corrected(story):
        yield f"the money moved, a success was heard, and it stays {story.status}, shown to nobody"


def _is_known(story: Story) -> bool:
    """Operators see it, or have seen it and decided."""
    decided = any(isinstance(each, Corrected) and each.by == "operators" for each in story.entries)
    return story.is_shown or story.is_case_open or decided


def _was_corrected(story: Story) -> bool:
    return any(isinstance(each, Corrected) and each.says_paid for each in story.entries)


def paid_twice(story: Story) -> Iterator[str]:
    if story.network.times_charged > 1:
        yield f"the network moved money {story.network.times_charged} times"


def sent_again(story: Story) -> Iterator[str]:
    """Only what provably did not leave, or a payout that a network which refuses duplicates does not find."""
    if len(_sent(story)) > MOST_SENDINGS:
        yield "it is sent again and again"
    for entry in _sent(story)[:MOST_SENDINGS]:
        earlier = [each for each in _sent(story) if each.nth < entry.nth]
        heard = [each for each in story.words() if each.at <= entry.at]
        if not earlier:
            continue
        if any(_is_success(each) for each in heard) and story.script.nature.has_query:
            yield f"sending {entry.nth} left although a success had been heard"
        if all(each.is_unsent and _was_answered(heard, each) for each in earlier):
            continue
        nature = story.script.nature
        if nature.type is Type.COLLECTION:
            yield f"a collection was sent again (sending {entry.nth})"
        elif nature.resubmit is not Resubmit.DUPLICATES_REFUSED:
            yield f"sending {entry.nth} left to a network that may pay twice"
        elif (why := _too_early(story, heard)) is not None:
            yield f"sending {entry.nth} left too early: {why}"


def sent_after_success(story: Story) -> Iterator[str]:
    """The same where nobody can be asked."""
    for entry in _sent(story):
        heard = [each for each in story.words() if each.at <= entry.at and _is_success(each)]
        if entry.nth > 0 and heard and not story.script.nature.has_query:
            yield f"sending {entry.nth} left although a success had been heard"


def _was_answered(heard: Sequence[Word], sent: Sent) -> bool:
    return any(each.way is Way.REPLY and each.nth == sent.nth and each.verdict is Verdict.UNSENT for each in heard)


def _too_early(story: Story, heard: Sequence[Word], *, silence_breaks: bool = False) -> str | None:
    """Whether "not found" was not yet said often and long enough."""
    answers = [each for each in heard if each.way is Way.QUERY]
    verdict = answers[-1].verdict if answers else None
    if verdict not in NOT_FOUND:
        return "the network was not asked, or did not say that it has none"
    needed, seconds = NOT_FOUND[verdict]
    row = 0
    for each in reversed(answers):
        if each.verdict is verdict:
            row += 1
        elif silence_breaks or verdict is Verdict.NOT_INDEXED or each.verdict is not Verdict.UNKNOWN:
            break
    taken_up = [
        each.at for each in story.entries if isinstance(each, Sent) or (isinstance(each, Told) and each.by != "ask")
    ]
    since = answers[-1].at - max(each for each in taken_up if each < answers[-1].at)
    if row < needed or since < seconds - 1:
        return f"{verdict} {row} times in a row, {since:.0f} s after sending"
    return None


def not_in_a_row(story: Story) -> Iterator[str]:
    """As often as it takes, in a row: an answer that was not heard breaks it."""
    asked = [each for each, word in _ends(story) if word is not None and word.verdict is Verdict.MISSING]
    again = [each for each in _sent(story) if each.nth > 0]
    entries: list[Told | Sent] = [*asked, *again]
    for entry in entries:
        heard = [each for each in story.words() if each.at <= entry.at]
        last = heard[-1] if heard else None
        is_not_found = last is not None and last.way is Way.QUERY and last.verdict is Verdict.MISSING
        if is_not_found and (why := _too_early(story, heard, silence_breaks=True)) is not None:
            yield f"{type(entry).__name__.lower()}: {why}"


def completed_wrongly(story: Story) -> Iterator[str]:
    for told, word in _ends(story):
        if told.status is not Status.COMPLETED:
            continue
        if word is None or not _counts(story, word):
            yield "COMPLETED by a word that does not count"
        if not story.network.ever_moved(told.at):
            yield "COMPLETED although nothing has moved"
        if story.network.amount != AMOUNT and word is not None and word.way is Way.QUERY:
            yield "COMPLETED with another amount"


def forgotten(story: Story) -> Iterator[str]:
    if story.status.is_final:
        return
    if not story.is_queued or story.due_at is None:
        yield f"it is {story.status}, and nobody will take it up again"
    elif story.due_at > story.over_at + (3700 if story.script.nature.has_query else 86_400):
        yield f"it is {story.status}, and nobody takes it up for {story.due_at - story.over_at:.0f} s"
    proven = [each for each in story.words() if _is_success(each) and _counts(story, each)]
    if proven:
        yield f"it is {story.status} although its network has said that it was paid"
    heard = [each for each in story.words() if _is_success(each)]
    if heard and not story.is_shown and story.over_at - heard[-1].at > 3 * 3600:
        yield "a success was heard, no query confirms it, and it is shown to nobody"
    is_unheard = _sent(story) and not any(each.verdict is Verdict.WAITING for each in story.words())
    is_blind = story.script.nature.type is Type.DISBURSEMENT and not story.script.nature.has_query
    if is_blind and is_unheard and not story.is_shown:
        yield "a payout that nobody heard of, at a network that cannot be asked, is shown to nobody"


def success_after_the_end(story: Story) -> Iterator[str]:
    """Said to be paid after FAILED: if it counts, a contradiction at once; else it is asked about, or shown."""
    for word in story.words():
        if not (_is_success(word) and word.before in (Status.FAILED, Status.CANCELLED)):
            continue
        if _counts(story, word):
            is_known = word.is_contradiction or (word.way is not Way.CALLBACK and word.is_shown)
            if word.believed_before is False and not is_known:
                yield f"paid, says {word.way} after {word.before}, and it is no contradiction"
        elif word.believed_before is False and not _is_followed(story, word):
            yield f"{word.way} says paid after {word.before}, and nobody is asked or shown it"


def _is_followed(story: Story, word: Word) -> bool:
    later = [each for each in story.words() if each.at >= word.at and each is not word]
    answered = any(each.way is Way.QUERY and _counts(story, each) for each in later)
    return answered or story.believes_paid or _is_known(story)


def failed_after_success(story: Story) -> Iterator[str]:
    """Once a success was heard, only the network's own definite word ends it as FAILED, or two operators."""
    for told, word in _ends(story):
        heard = [each for each in story.words() if each.at <= told.at and _is_success(each)]
        if told.status is not Status.FAILED or not heard or told.by == "operators":
            continue
        if word is None or not _counts(story, word):
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
    for told, word in _ends(story):
        heard = [each for each in story.words() if each.at <= told.at]
        true = [
            each.at for each in heard if _is_success(each) and each.is_right_amount and story.network.moved(each.at)
        ]
        is_paid = story.script.nature.has_query and story.network.moved(told.at)
        if told.status is Status.FAILED and word is not None and true and is_paid:
            return sum(each.way is not Way.CALLBACK and each.at > true[-1] for each in heard)
    return 0


def failed_without_a_word(story: Story) -> Iterator[str]:
    """FAILED takes a definite refusal. For a collection, "not found" for long enough is one."""
    for told, word in _ends(story):
        if told.status is not Status.FAILED or word is None or _counts(story, word):
            continue
        if story.script.nature.type is Type.DISBURSEMENT:
            yield f"a payout FAILED on {word.verdict} ({word.way})"
            continue
        heard = [each for each in story.words() if each.at <= told.at]
        why = (
            _too_early(story, heard)
            if word.way is Way.QUERY and word.verdict in NOT_FOUND
            else f"on {word.way} {word.verdict}"
        )
        if why is not None:
            yield f"a collection FAILED: {why}"


def _is_followed_up(story: Story) -> Told | None:
    """FAILED by not found, by expiry, by operators, and any payout: asked about for three days, where there is a query."""
    ends = [each for each, _ in _ends(story)]
    if not ends or ends[0].status is not Status.FAILED or not story.script.nature.has_query:
        return None
    told, is_payout = ends[0], story.script.nature.type is Type.DISBURSEMENT
    if not (is_payout or told.failure_code in ("not_received", "expired") or told.by == "operators"):
        return None
    after = [each for each in story.words() if each.at > told.at]
    if any(each.is_contradiction for each in after):
        return None
    if not is_payout and any(_counts(story, each) and told.failure_code != "expired" for each in after):
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
    words = [each for each in story.words() if _counts(story, each) and not _is_late_refusal(story, each)]
    if not words or not story.status.is_final:
        return
    says_paid = words[-1].verdict is Verdict.CONFIRMED
    if says_paid != story.believes_paid and not _is_known(story):
        yield f"the network's last word is {words[-1].verdict} ({words[-1].way}), the books say otherwise, and nobody is shown it"


def other_amount(story: Story) -> Iterator[str]:
    """A success with a wrong amount moves nothing, and is shown."""
    wrong = [each for each in story.words() if _is_success(each) and not each.is_right_amount]
    for word in wrong:
        if word.is_contradiction:
            yield "a wrong amount counted as a contradiction"
        is_settled = word.believed_before is True or any(
            _counts(story, each) and each.at >= word.at for each in story.words()
        )
        is_shown = word.is_shown or (word.before is not Status.PROCESSING and story.is_shown)
        if not is_settled and not is_shown:
            yield f"{word.way} names a wrong amount, and it is shown to nobody"


def other_amount_forgotten(story: Story) -> Iterator[str]:
    """Money of another amount moved, and that was heard: it stays shown, whatever is said of ours."""
    heard = any(_is_success(each) and not each.is_right_amount for each in story.words())
    is_lost = story.status is Status.FAILED and story.network.moved(story.over_at) and not story.believes_paid
    if heard and is_lost and not _is_known(story) and not _was_corrected(story):
        yield "another amount moved, and it stays FAILED, shown to nobody"


def money(story: Story) -> Iterator[str]:
    nature, balances = story.script.nature, story.balances
    is_collection = nature.type is Type.COLLECTION
    if sum(balances.values()) != 0:
        yield "the accounts do not sum to zero"
    if any(balances[each] < 0 for each in (Account.WALLET, Account.IN_FLIGHT)):
        yield "a wallet is below zero"
    if not story.status.is_final:
        return
    paid = story.believes_paid
    target = (AMOUNT - nature.fee if is_collection else -(AMOUNT + nature.fee)) if paid else 0
    has = balances[Account.WALLET] - story.first_wallet
    due = target - balances[Account.LOSSES] - has  # what the house bears, the wallet keeps
    if balances[Account.IN_FLIGHT] != 0:
        yield "it has ended, and money is still in flight"
    if balances[Account.FLOAT] != ((-AMOUNT if is_collection else AMOUNT) if paid else 0):
        yield "the float is not what the network last said"
    if balances[Account.LOSSES] != 0 and Kind.HOUSE_BEARS not in {each.kind for each in story.script.faults}:
        yield f"the house bears {-balances[Account.LOSSES]}, and nobody decided that"
    if story.owed != max(-due, 0):
        yield f"{story.owed} is owed, and the wallet has {-due} too much"
    if story.due != due or story.is_case_open != (due != 0):
        yield f"{story.due} is due, and the wallet lacks {due}"
    if due == 0 and balances[Account.SUSPENSE] != 0:
        yield f"the case is closed, and suspense holds {balances[Account.SUSPENSE]}"
    if due == 0 and balances[Account.FEES] != (nature.fee if paid else 0):
        yield f"the case is closed, and fees hold {balances[Account.FEES]}"


def correction_undone(story: Story) -> Iterator[str]:
    """What was paid after FAILED stays so until the money goes back: an old word that comes again does not undo it."""
    has_moved = story.network.times_charged and story.network.moved(story.over_at)
    if story.status is Status.FAILED and has_moved and _was_corrected(story) and not story.believes_paid:
        yield f"it was paid and corrected, and an older word undid that; owed: {story.owed}, shown: {story.is_shown}"


def not_told(story: Story) -> Iterator[str]:
    """The merchant is told whenever wallet or debt changes by a correction, and how much. Nobody bears what is not due."""
    for each in story.entries:
        if not isinstance(each, Corrected):
            continue
        changes = {abs(each.wallet), abs(each.owed)} - {0}
        if each.says_paid == (story.status is Status.COMPLETED) and each.losses != 0:
            yield f"it is as the merchant was told, and the house bears {-each.losses}"
        if changes and each.told is None:
            yield f"the wallet changed by {each.wallet} and its debt by {each.owed}, and nobody was told ({each.by})"
        if not changes and each.told is not None:
            yield "a correction was told, and nothing changed"
        if each.told is not None and changes and each.told not in changes:
            yield f"told {each.told}, and it was {sorted(changes)}"


def not_credited(story: Story) -> Iterator[str]:
    """A customer who has paid after FAILED is credited by itself; nothing is taken by itself."""
    is_collection = story.script.nature.type is Type.COLLECTION
    for each in story.entries:
        if not isinstance(each, Corrected):
            continue
        if each.by != "operators" and each.wallet < 0:
            yield "money was taken from a wallet by itself"
        if each.available is not None and -each.wallet > each.available:
            yield f"{-each.wallet} was taken from a wallet that could give {each.available}"
        if is_collection and story.status is Status.FAILED and each.by == "operators" and each.wallet > 0:
            yield "a collection that was paid after FAILED was credited only by operators"
    is_left = is_collection and story.status is Status.FAILED and story.says_paid and story.is_case_open
    if is_left:
        yield "a collection that was paid after FAILED is not credited"


def _is_late_refusal(story: Story, word: Word) -> bool:
    """A reply that came after the end: others have been heard since it was written."""
    is_refusal = word.way is Way.REPLY and word.verdict is Verdict.REFUSED and word.before.is_final
    return is_refusal and story.script.nature.has_query


def undone_by_a_reply(story: Story) -> Iterator[str]:
    """Where the network can be asked, a late refusal in a reply does not undo what was said since."""
    for word in story.words():
        if word.is_contradiction and _is_late_refusal(story, word):
            yield f"a reply says refused after {word.before}, and nobody was asked"


def acknowledged_and_not_found(story: Story) -> Iterator[str]:
    """What the network has had is for operators if it no longer knows it: neither FAILED nor sent again."""
    acknowledged = [each.at for each in story.words() if each.verdict is Verdict.WAITING and each.is_proven]
    if not acknowledged:
        return
    if any(word is not None and word.verdict in NOT_FOUND and told.at > acknowledged[0] for told, word in _ends(story)):
        yield "its network had it, and it FAILED because it is not found"
    if any(each.at > acknowledged[0] for each in _sent(story)):
        yield "its network had it, and it was sent again"


RULES: tuple[Callable[[Story], Iterator[str]], ...] = (
    charged_but_failed,
    paid_twice,
    sent_again,
    sent_after_success,
    not_in_a_row,
    completed_wrongly,
    forgotten,
    success_after_the_end,
    failed_after_success,
    failed_though_paid,
    failed_by_an_older_answer,
    failed_without_a_word,
    not_asked_after_failed,
    asked_too_little,
    last_word,
    other_amount,
    other_amount_forgotten,
    money,
    correction_undone,
    not_told,
    not_credited,
    undone_by_a_reply,
    acknowledged_and_not_found,
)
