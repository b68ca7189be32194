"""The names of the lines and the groups of a statement. Pure."""

from malipo.ledger.period_statement import LineGroup, PeriodLine
from malipo.ledger.statement import WalletLineKind

_GROUPS = {
    LineGroup.COLLECTION: "Collections",
    LineGroup.PAYOUT: "Payouts",
    LineGroup.REFUND: "Refunds",
    LineGroup.SET_ASIDE: "Set aside for payouts that have not ended",
    LineGroup.NOT_PAID: "Set aside and given back: payouts that did not happen",
    LineGroup.TOP_UP: "Top-ups",
    LineGroup.SETTLEMENT: "Sent to your bank account",
    LineGroup.CORRECTION: "Corrections",
}
_LINES = {
    LineGroup.COLLECTION: "A customer paid",
    LineGroup.PAYOUT: "Paid out",
    LineGroup.REFUND: "Refunded to a customer",
    LineGroup.TOP_UP: "You topped up",
    LineGroup.SETTLEMENT: "Sent to your bank account",
}
_SET_ASIDE = ("Set aside for a payout", "Set aside for a refund")
_NOT_PAID = ("Set aside for a payout that did not happen", "Set aside for a refund that did not happen")
_BACK = ("Back from a payout that did not happen", "Back from a refund that did not happen")
_SETTLEMENT_BACK = ("Back from a settlement to your bank account",)
_CORRECTIONS = ("Correction at your cost", "Correction in your favour")
SENTENCES = (_GROUPS, _LINES, _SET_ASIDE, _NOT_PAID, _BACK, _SETTLEMENT_BACK, _CORRECTIONS)


def group_sentence(group: LineGroup) -> str:
    return _GROUPS[group]


def line_sentence(line: PeriodLine) -> str:
    """The sentence for a line. Money set aside is called so until its payout ends."""
    if line.group is LineGroup.SET_ASIDE:
        return _SET_ASIDE[line.is_refund]
    if line.group is LineGroup.NOT_PAID:
        return (_BACK if line.kind is WalletLineKind.PAYOUT_RETURNED else _NOT_PAID)[line.is_refund]
    if line.kind is WalletLineKind.SETTLEMENT_RETURNED:
        return _SETTLEMENT_BACK[0]
    return _CORRECTIONS[line.net > 0] if line.group is LineGroup.CORRECTION else _LINES[line.group]
