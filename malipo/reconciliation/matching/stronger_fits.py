"""Which of two payments that one line fits keeps the line: the table of fits against each other. Pure.

A line may fit several payments: one by its key, another by its receipt. Where a rule here names both fits, the
payment with the weaker one is dropped as a candidate, so that it does not keep the line from the other. The stronger
payment has exactly the amount of the line. Two payments that no rule separates are left to operators.

This is no order of strength. Of two receipts that the network has reported, none is the stronger one, whatever their
amounts; but a key of the exact amount is stronger than such a receipt of another amount. The grid of all pairs, to be
read before this table: `tests/reconciliation/test_stronger_fits.py`.
"""

from enum import StrEnum
from typing import NamedTuple


class KeySource(StrEnum):
    """Whose key a line has."""

    NETWORK = "network"  # that of the network's own statement
    COPY = "copy"  # one that an operator's copy adds to the network's line
    OPERATORS = "operators"  # that of a line which only operators have brought


class Fit(StrEnum):
    """How a line fits a payment. A receipt is typed if only people, or a line of a
    statement, have reported it."""

    KEY = "key"
    KEY_RECEIPT = "key_receipt"
    KEY_TYPED = "key_typed"
    RECEIPT = "receipt"
    TYPED = "typed"


class StrongerFit(NamedTuple):
    why: str
    key_sources: tuple[KeySource, ...]
    stronger: tuple[Fit, ...]
    weaker: tuple[Fit, ...]
    is_of_another_amount: bool = False  # only if the amount of the weaker payment is not the line's


_EVERYBODY = (KeySource.NETWORK, KeySource.COPY, KeySource.OPERATORS)
_NAMED = (Fit.KEY, Fit.KEY_RECEIPT, Fit.KEY_TYPED)
_TOLD = (Fit.RECEIPT, Fit.KEY_RECEIPT)

STRONGER_FITS = (
    StrongerFit(
        "The network has told the receipt of the winner; only people have told that of the loser.",
        key_sources=_EVERYBODY,
        stronger=_TOLD,
        weaker=(Fit.TYPED,),
    ),
    StrongerFit(
        "The network itself names the winner; only people have told the receipt of the loser.",
        key_sources=(KeySource.NETWORK,),
        stronger=_NAMED,
        weaker=(Fit.TYPED,),
    ),
    StrongerFit(
        "The line names the winner. Only people have told the receipt of the loser, and its amount is not the line's.",
        key_sources=_EVERYBODY,
        stronger=_NAMED,
        weaker=(Fit.TYPED,),
        is_of_another_amount=True,
    ),
    StrongerFit(
        "The line names the winner. The loser's amount is not the line's. A key that was added is no such name.",
        key_sources=(KeySource.NETWORK, KeySource.OPERATORS),
        stronger=_NAMED,
        weaker=(Fit.RECEIPT,),
        is_of_another_amount=True,
    ),
    StrongerFit(
        "The network has told the receipt of the winner. Only an operator has added the loser's key to the line.",
        key_sources=(KeySource.COPY,),
        stronger=_TOLD,
        weaker=(Fit.KEY, Fit.KEY_TYPED),
    ),
)


def stronger_fits_sql() -> str:
    """The table as a part of a statement, named `rule`."""
    rows = []
    for number, each in enumerate(STRONGER_FITS):
        cast = "::text[]" if number == 0 else ""  # The first row says the type of each column.
        sets = (f"'{{{','.join(names)}}}'{cast}" for names in (each.key_sources, each.stronger, each.weaker))
        rows.append(f"        -- {each.why}\n        ({', '.join(sets)}, {str(each.is_of_another_amount).lower()})")
    columns = "whose key the line has         the stronger fit               the weaker one      only of another amount"
    values = ",\n".join(rows)
    return f"""
    (VALUES
        -- {columns}
{values}
    ) AS rule (key_sources, stronger, weaker, is_of_another_amount)
"""
