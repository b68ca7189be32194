"""What the books hold, and what the merchant is told of it."""

from collections.abc import Iterator

from malipo.ledger.entry import Account
from malipo.networks.contract import Type
from malipo.payments.transaction import Status
from tests.model.network import AMOUNT
from tests.model.oracle.reading import was_corrected
from tests.model.script import Kind
from tests.model.story import Corrected, Story


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
    if story.status is Status.FAILED and has_moved and was_corrected(story) and not story.believes_paid:
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
