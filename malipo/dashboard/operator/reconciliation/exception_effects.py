"""The effect of each resolution of an exception on the money: every account that changes, before and after.

The amounts are those of `reconciliation/exceptions/find_effect.py`, which limits count and which the command line
shows too.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from malipo import money
from malipo.dashboard.language import Translator
from malipo.db import Conn
from malipo.ledger.accounts import Account
from malipo.reconciliation.exceptions.action import ACTIONS, RESOLVED_BY_NOTE, Action
from malipo.reconciliation.exceptions.find_effect import (
    AccountChange,
    Balances,
    find_balances,
    find_effect,
    fingerprint_of,
)
from malipo.reconciliation.matching.exception import ReconciliationException, Suggestion
from malipo.words import effects as effect_words

TITLES = {
    "match": "It is the line of a payment that we have",
    "book:suspense": "Set it aside until it is known whose it is",
    "book:network_fees": "It is a fee of the network",
    "book:bank": "It went to the bank, or came from it",
    "book:losses": "Write it off, or keep it as the house's",
    "adopt": "It is a payment that we have lost: make it",
    "resolve:completed": "The money of the payment moved",
    "resolve:failed": "The money of the payment did not move",
    "note": "Only write down what was found out",
    "undo": "Reverse what was done",
}
EFFECTS = {
    "match": "The line is the evidence for that payment: an open one is completed, one that had failed becomes a case, "
    "and what the amounts differ by goes to suspense.",
    "adopt": "A completed payment is made for the merchant, with the fee of its tariff.",
    "shown_first": "You see what it changes before it is proposed.",
    "rest": "The ledger has {followed} of it by the payment. Only the rest is booked, and the line is the payment's "
    "evidence.",
    "note_resolves": "It is resolved by that.",
    "note_stays": "It stays open until the amount is matched or booked.",
}
SENTENCES = [*TITLES.values(), *EFFECTS.values(), *effect_words.ACCOUNTS.values(), effect_words.NOTHING]

_BOOKED = (Account.SUSPENSE, Account.NETWORK_FEES, Account.BANK, Account.LOSSES)
ADOPTION = ("merchant", "phone", "name", "idempotency_key", "refund_of", "channel")  # the fields that are typed for it
RESOLUTION = ("waive", "despite_waiting")  # the choices that are ticked for a payment that is resolved
_NEEDS = {"match": "payment", "adopt": "merchant"}


class ActionChoice(NamedTuple):
    value: str
    title: str
    effect: str


class BalanceChange(NamedTuple):
    """An account that changes."""

    title: str
    before: int
    after: int


class EffectPreview(NamedTuple):
    """The chosen resolution and its effects, which are unknown while a payment or a merchant must be named first."""

    title: str
    rows: list[BalanceChange] | None
    notes: list[str]
    fingerprint: str = ""

    def in_words(self, words: Translator) -> str:
        shown = [(each.title, money.display(each.before), money.display(each.after)) for each in self.rows or ()]
        sentences = [f"{title}: {before} → {after}." for title, before, after in shown]
        if self.rows == []:
            sentences.append(words(effect_words.NOTHING))
        return " ".join(sentences + self.notes)


class Effects:
    """Finds effects with one reading of the balances."""

    def __init__(
        self, words: Translator, connection: Conn, names: dict[str, str], *, credits_automatically: bool
    ) -> None:
        self._words = words
        self._connection = connection
        self._names = names
        self._credits_automatically = credits_automatically
        self._balances: Balances | None = None

    async def find(
        self, found: Sequence[ReconciliationException], value: str, terms: Mapping[str, str]
    ) -> EffectPreview:
        """The effects of these resolutions, all together."""
        changes = None if _is_unnamed(value, terms) else await self._changes(found, value, terms)
        rows = None if changes is None else rows_of(self._words, changes, self._names)
        notes = [self._words(EFFECTS[name], **values) for name, values in _notes(found, value, rows is None)]
        title = self._words(TITLES.get(value, TITLES["note"]))
        return EffectPreview(title, rows, notes, "" if changes is None else fingerprint_of(changes))

    async def choices(
        self, found: Sequence[ReconciliationException], suggestions: Sequence[Suggestion], values: Mapping[str, str]
    ) -> list[ActionChoice]:
        """The resolutions that fit all of these exceptions. Several at once have none that names a payment or a
        merchant."""
        offered = [
            value
            for action in Action
            if all(action in ACTIONS[each.kind] for each in found) and _is_offered(action, found, suggestions)
            for value in values_of(action)
        ]
        effects = [(value, await self.find(found, value, terms_of(value, values))) for value in offered]
        return [ActionChoice(value, each.title, each.in_words(self._words)) for value, each in effects]

    async def _changes(
        self, found: Sequence[ReconciliationException], value: str, terms: Mapping[str, str]
    ) -> list[AccountChange] | None:
        self._balances = self._balances or await find_balances(self._connection)
        action, together = Action(value.partition(":")[0]), dict[tuple[str, str], AccountChange]()
        for exception in found:
            changes = await find_effect(
                self._connection,
                exception,
                action,
                terms,
                self._balances,
                credits_automatically=self._credits_automatically,
            )
            if changes is None:
                return None
            for each in changes:
                before = together.get((each.account, each.of))
                after = each.after if before is None else before.after + each.after - each.before
                together[each.account, each.of] = AccountChange(each.account, each.of, each.before, after)
        return list(together.values())


def rows_of(words: Translator, changes: Sequence[AccountChange], names: dict[str, str]) -> list[BalanceChange]:
    """The rows of the table, with merchants' names where the change is of a merchant's account."""
    return [
        BalanceChange(
            words(effect_words.title_of(each), of=effect_words.owner_of(each, names)), each.before, each.after
        )
        for each in changes
    ]


def values_of(action: Action) -> list[str]:
    match action:
        case Action.BOOK:
            return [f"book:{account}" for account in _BOOKED]
        case Action.RESOLVE:
            return ["resolve:completed", "resolve:failed"]
    return [str(action)]


def value_of(action: Action, terms: Mapping[str, str]) -> str:
    """The form value of the choice that a resolution stands for."""
    more = terms.get("account") if action is Action.BOOK else terms.get("outcome") if action is Action.RESOLVE else None
    return f"{action}:{more}" if more else str(action)


def terms_of(value: str, form: Mapping[str, str]) -> dict[str, str]:
    """The terms of what was chosen, with what was typed for it."""
    action, _, more = value.partition(":")
    match action:
        case Action.BOOK:
            return {"account": more}
        case Action.RESOLVE:
            return {"outcome": more} | {name: "yes" for name in RESOLUTION if form.get(name) == "yes"}
        case Action.MATCH:
            return {"payment": form.get("payment", "")}
        case Action.ADOPT:
            return {name: form[name] for name in ADOPTION if form.get(name)}
    return {}


def needs_look(value: str, terms: Mapping[str, str]) -> bool:
    """Whether what it changes is known only once a payment or a merchant is named, or a box is ticked: it is shown
    then, and proposed after that."""
    return value in _NEEDS or any(terms.get(name) for name in RESOLUTION)


def _is_unnamed(value: str, terms: Mapping[str, str]) -> bool:
    return value in _NEEDS and not terms.get(_NEEDS[value])


def _is_offered(action: Action, found: Sequence[ReconciliationException], suggestions: Sequence[Suggestion]) -> bool:
    if action not in (Action.MATCH, Action.ADOPT):
        return True
    if len(found) > 1:
        return False
    if action is Action.ADOPT:
        return may_be_adopted(found[0], suggestions)
    # The payment that the line names has another line, or went the other way: matching them can only be refused.
    return bool(suggestions) or not found[0].cannot_match


def may_be_adopted(exception: ReconciliationException, suggestions: Sequence[Suggestion]) -> bool:
    """Adopting a line can only be refused if it has cents or takes another one back, or if a payment has its key or its
    receipt."""
    is_payment = not exception.line_cents and not exception.takes_back
    return is_payment and not any(each.why in ("receipt", "key") for each in suggestions)


def _notes(found: Sequence[ReconciliationException], value: str, is_unnamed: bool) -> list[tuple[str, dict[str, str]]]:
    action = value.partition(":")[0]
    if action == Action.NOTE:
        return [("note_resolves" if all(each.kind in RESOLVED_BY_NOTE for each in found) else "note_stays", {})]
    if action == Action.BOOK and len(found) == 1 and found[0].has_followed:
        return [("rest", {"followed": money.display(abs(found[0].followed))})]
    if is_unnamed and action in _NEEDS:
        return [(action, {}), ("shown_first", {})]
    return []
