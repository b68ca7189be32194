"""Rules for the ledger, and for the amounts that the merchant sees."""

from collections.abc import Iterator

from malipo.ledger.accounts import Account
from malipo.networks.connector import Type
from malipo.payments.transaction import Status
from tests.model.network import AMOUNT
from tests.model.oracle.trace_queries import was_corrected
from tests.model.scenario import Kind
from tests.model.trace import Corrected, Trace


def money(trace: Trace) -> Iterator[str]:
    nature, balances = trace.scenario.nature, trace.balances
    is_collection = nature.type is Type.COLLECTION
    if sum(balances.values()) != 0:
        yield "the accounts do not sum to zero"
    if any(balances[each] < 0 for each in (Account.WALLET, Account.IN_FLIGHT)):
        yield "a wallet is below zero"
    if not trace.status.is_final:
        return
    paid = trace.believes_paid
    target = (AMOUNT - nature.fee if is_collection else -(AMOUNT + nature.fee)) if paid else 0
    has = balances[Account.WALLET] - trace.first_wallet
    due = target - balances[Account.LOSSES] - has  # what the house bears, the wallet keeps
    if balances[Account.IN_FLIGHT] != 0:
        yield "it has ended, and money is still in flight"
    if balances[Account.FLOAT] != ((-AMOUNT if is_collection else AMOUNT) if paid else 0):
        yield "the float is not what the network last said"
    if balances[Account.LOSSES] != 0 and Kind.HOUSE_BEARS not in {each.kind for each in trace.scenario.faults}:
        yield f"the house bears {-balances[Account.LOSSES]}, and nobody decided that"
    if trace.owed != max(-due, 0):
        yield f"{trace.owed} is owed, and the wallet has {-due} too much"
    if trace.due != due or trace.is_case_open != (due != 0):
        yield f"{trace.due} is due, and the wallet lacks {due}"
    if due == 0 and balances[Account.SUSPENSE] != 0:
        yield f"the case is closed, and suspense holds {balances[Account.SUSPENSE]}"
    if due == 0 and balances[Account.FEES] != (nature.fee if paid else 0):
        yield f"the case is closed, and fees hold {balances[Account.FEES]}"


def correction_undone(trace: Trace) -> Iterator[str]:
    """What was paid after FAILED stays so until the money goes back: an old word that comes again does not undo it."""
    has_moved = trace.network.times_charged and trace.network.moved(trace.over_at)
    if trace.status is Status.FAILED and has_moved and was_corrected(trace) and not trace.believes_paid:
        yield f"it was paid and corrected, and an older word undid that; owed: {trace.owed}, shown: {trace.is_shown}"


def not_told(trace: Trace) -> Iterator[str]:
    """The merchant is told whenever wallet or debt changes by a correction, and how much. Nobody bears what is not due."""
    for each in trace.entries:
        if not isinstance(each, Corrected):
            continue
        changes = {abs(each.wallet), abs(each.owed)} - {0}
        if each.says_paid == (trace.status is Status.COMPLETED) and each.losses != 0:
            yield f"it is as the merchant was told, and the house bears {-each.losses}"
        if changes and each.reported_amount is None:
            yield f"the wallet changed by {each.wallet} and its debt by {each.owed}, and nobody was told ({each.by})"
        if not changes and each.reported_amount is not None:
            yield "a correction was told, and nothing changed"
        if each.reported_amount is not None and changes and each.reported_amount not in changes:
            yield f"told {each.reported_amount}, and it was {sorted(changes)}"


def not_credited(trace: Trace) -> Iterator[str]:
    """A customer who has paid after FAILED is credited by itself; nothing is taken by itself."""
    is_collection = trace.scenario.nature.type is Type.COLLECTION
    for each in trace.entries:
        if not isinstance(each, Corrected):
            continue
        if each.by != "operators" and each.wallet < 0:
            yield "money was taken from a wallet by itself"
        if each.available is not None and -each.wallet > each.available:
            yield f"{-each.wallet} was taken from a wallet that could give {each.available}"
        if is_collection and trace.status is Status.FAILED and each.by == "operators" and each.wallet > 0:
            yield "a collection that was paid after FAILED was credited only by operators"
    is_left = is_collection and trace.status is Status.FAILED and trace.says_paid and trace.is_case_open
    if is_left:
        yield "a collection that was paid after FAILED is not credited"
