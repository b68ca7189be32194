"""What each resolution of an exception does to the money, as sentences, shown before the decision. Pure.

The rules are those of `reconciliation/resolve_exceptions.py`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from malipo import money
from malipo.dashboard.language import Words
from malipo.ledger.accounts import Account
from malipo.reconciliation.exception import ACTIONS, RESOLVED_BY_NOTE, Action, ReconciliationException

TITLES = {
    "match": "It is the line of a payment that we have",
    "book:suspense": "Set it aside until it is known whose it is",
    "book:network_fees": "It is a fee of the network",
    "book:bank": "It went to the bank, or came from it",
    "book:losses": "The house bears it, or keeps it",
    "adopt": "It is a payment that we have lost: make it",
    "resolve:completed": "The money of the payment moved",
    "resolve:failed": "The money of the payment did not move",
    "note": "Only write down what was found out",
    "undo": "Reverse what was done",
}
EFFECTS = {
    "float_up": "The ledger's float rises by {amount}, as the statement has it.",
    "float_down": "The ledger's float falls by {amount}, as the statement has it.",
    "suspense_in": "{amount} stands in suspense.",
    "suspense_out": "{amount} is missing in suspense.",
    "fees_in": "What networks have charged us falls by {amount}.",
    "fees_out": "What networks have charged us rises by {amount}.",
    "bank_in": "At the bank there is {amount} less.",
    "bank_out": "At the bank there is {amount} more.",
    "losses_in": "The house keeps {amount}.",
    "losses_out": "The house bears {amount}.",
    "match": "The line is the evidence for that payment. If it has not ended, it is completed; if it had failed, it "
    "becomes a case. If the amounts differ, the difference is booked to suspense.",
    "adopt_in": "A completed payment of {amount} is made for the merchant, and {amount} is added to the wallet.",
    "adopt_out": "A completed payout of {amount} is made for the merchant, and {amount} is taken from the wallet. What "
    "the wallet cannot bear is owed.",
    "resolve": "It is decided as a case is: the wallet follows what is said here.",
    "note_resolves": "Nothing moves. It is resolved by that.",
    "note_stays": "Nothing moves. It stays open until its shillings have a place.",
    "undo": "What was booked is booked back, and the line has no place again.",
}
SENTENCES = [*TITLES.values(), *EFFECTS.values()]

_BOOKED = {
    Account.SUSPENSE: "suspense",
    Account.NETWORK_FEES: "fees",
    Account.BANK: "bank",
    Account.LOSSES: "losses",
}


class Choice(NamedTuple):
    value: str
    title: str
    effect: str


def values_of(action: Action) -> list[str]:
    match action:
        case Action.BOOK:
            return [f"book:{account}" for account in _BOOKED]
        case Action.RESOLVE:
            return ["resolve:completed", "resolve:failed"]
    return [str(action)]


def value_of(action: Action, terms: Mapping[str, str]) -> str:
    """What was chosen, of a resolution."""
    more = terms.get("account") if action is Action.BOOK else terms.get("outcome") if action is Action.RESOLVE else None
    return f"{action}:{more}" if more else str(action)


def choices_of(words: Words, found: Sequence[ReconciliationException]) -> list[Choice]:
    """What can be done about all of these; of several, nothing that needs a payment or a merchant of its own."""
    common = [action for action in Action if all(action in ACTIONS[each.kind] for each in found)]
    if len(found) > 1:
        common = [action for action in common if action not in (Action.MATCH, Action.ADOPT)]
    return [
        Choice(value, words(TITLES[value]), effect_of(words, found, value))
        for action in common
        for value in values_of(action)
    ]


def effect_of(words: Words, found: Sequence[ReconciliationException], value: str) -> str:
    """Of all of them together: what comes in and what goes out, each by itself."""
    action, _, more = value.partition(":")
    if action == Action.BOOK:
        return " ".join(_booked(words, found, _BOOKED[Account(more)]))
    if action == Action.NOTE:
        is_resolved = all(each.kind in RESOLVED_BY_NOTE for each in found)
        name = "note_resolves" if is_resolved else "note_stays"
        return words(EFFECTS[name])
    if action == Action.ADOPT:
        amount = found[0].line_amount or 0
        name = "adopt_in" if amount > 0 else "adopt_out"
        return words(EFFECTS[name], amount=money.display(abs(amount)))
    return words(EFFECTS[action])


def _booked(words: Words, found: Sequence[ReconciliationException], account: str) -> list[str]:
    told = []
    for float_words, way, amount in (
        ("float_up", "in", sum(max(each.line_amount or 0, 0) for each in found)),
        ("float_down", "out", -sum(min(each.line_amount or 0, 0) for each in found)),
    ):
        if amount:
            shown = money.display(amount)
            told += [words(EFFECTS[float_words], amount=shown), words(EFFECTS[f"{account}_{way}"], amount=shown)]
    return told
