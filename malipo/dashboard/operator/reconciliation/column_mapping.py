"""The columns of an unknown layout: as they were guessed, and as an operator has corrected them. Pure."""

import dataclasses
from collections.abc import Mapping

from malipo.dashboard.language import Translator
from malipo.network_statements.cell_values import DECIMAL_MARKS, TIME_FORMATS
from malipo.network_statements.guess_profile import Guess
from malipo.network_statements.profile import DONE, FAILED, NEEDED, SignRule, StatementField
from malipo.reconciliation.matching.carriers import carrier_named

CORRECTED = "corrected"  # a field of every form that a person has seen
TIME_FORMAT, MONEY_IN, MONEY_OUT = "timeFormat", "moneyIn", "moneyOut"
MOVED, NOT_MOVED, DECIMAL_MARK, AGGREGATOR = "moved", "notMoved", "decimalMark", "aggregator"
MORE_FIELDS = (CORRECTED, TIME_FORMAT, MONEY_IN, MONEY_OUT, MOVED, NOT_MOVED, DECIMAL_MARK, AGGREGATOR)

# The meanings that a column can have, in the order of the form.
SENTENCES = {
    StatementField.RECEIPT: "The network's receipt",
    StatementField.AT: "The time",
    StatementField.PAID_IN: "What came in",
    StatementField.WITHDRAWN: "What went out",
    StatementField.AMOUNT: "The amount, both ways",
    StatementField.DIRECTION: "The word for in or out",
    StatementField.BALANCE: "The balance after it",
    StatementField.STATUS: "Whether it was completed",
    StatementField.KEY: "Our own reference",
    StatementField.PARTY: "The customer's phone",
    StatementField.LINKED: "The receipt that it takes back",
    StatementField.REASON: "The kind of movement",
    StatementField.DETAILS: "The details",
}
_MISSING = "Say which column this is."
_AMOUNTS = "Choose the column of the amount, or those of what came in and what went out."
_TIMES = "Say how the times are written."
_DIRECTIONS = "Say which words stand for money that came in, and for money that went out."
_LAYOUT_NAME = "A name is up to 40 letters, digits and hyphens, and not that of another layout."
_MORE = [_MISSING, _AMOUNTS, _TIMES, _DIRECTIONS, _LAYOUT_NAME]

# How each is written, for one moment: what a person compares with the file.
EXAMPLES = {
    "iso": "2026-11-15 14:05:09",
    "%d-%m-%Y %H:%M:%S": "15-11-2026 14:05:09",
    "%d/%m/%Y %H:%M:%S": "15/11/2026 14:05:09",
    "%d-%m-%Y %H:%M": "15-11-2026 14:05",
    "%d/%m/%Y %H:%M": "15/11/2026 14:05",
    "%d-%m-%y %I:%M %p": "15-11-26 02:05 PM",
    "%d/%m/%y %I:%M %p": "15/11/26 02:05 PM",
    "%d-%m-%Y %I:%M %p": "15-11-2026 02:05 PM",
    "%d/%m/%Y %I:%M %p": "15/11/2026 02:05 PM",
    "%d-%m-%Y %I:%M:%S %p": "15-11-2026 02:05:09 PM",
    "%d/%m/%Y %I:%M:%S %p": "15/11/2026 02:05:09 PM",
    "%d-%m-%Y": "15-11-2026",
    "%d/%m/%Y": "15/11/2026",
    "%d %b %Y %H:%M:%S": "15 Nov 2026 14:05:09",
    "%d %b %Y %H:%M": "15 Nov 2026 14:05",
    "%d %b %Y": "15 Nov 2026",
    "%d-%b-%Y": "15-Nov-2026",
}


def sentences() -> list[str]:
    return [*SENTENCES.values(), *_MORE]


def corrected(found: Guess, values: Mapping[str, str]) -> Guess:
    """The mapping that the operator chose; the guessed one, if no operator has seen it yet."""
    if CORRECTED not in values:
        return found
    columns = {
        field: int(text)
        for field in StatementField
        if (text := values.get(field, "")).isascii() and text.isdigit() and int(text) < len(found.header)
    }
    money_in, money_out, moved, not_moved = (
        _words_in(values.get(name, "")) for name in (MONEY_IN, MONEY_OUT, MOVED, NOT_MOVED)
    )
    # A status column that the person has only now chosen has the usual words.
    if StatementField.STATUS in columns and not moved:
        moved, not_moved = DONE, FAILED
    decimal_mark = values.get(DECIMAL_MARK, "")
    time_format = values.get(TIME_FORMAT, "")
    return dataclasses.replace(
        found,
        columns=columns,
        sign=_sign(columns),
        time_format=time_format if time_format in TIME_FORMATS else None,
        money_in=money_in,
        money_out=money_out,
        moved=moved,
        not_moved=not_moved,
        decimal_mark=decimal_mark if decimal_mark in DECIMAL_MARKS else found.decimal_mark,
        carrier=carrier_named(values.get(AGGREGATOR, "")),
    )


def _sign(columns: Mapping[StatementField, int]) -> SignRule | None:
    if StatementField.PAID_IN in columns and StatementField.WITHDRAWN in columns:
        return SignRule.TWO_COLUMNS
    if StatementField.AMOUNT not in columns:
        return None
    return SignRule.DIRECTION if StatementField.DIRECTION in columns else SignRule.SIGNED


def _words_in(text: str) -> tuple[str, ...]:
    return tuple(word for each in text.split(",") if (word := each.strip()))


def missing(mapped: Guess) -> dict[str, str]:
    """Sentences, by the field of the form, for what the person must fill in before a line can be read."""
    sentences = {
        str(field): _MISSING for field in (StatementField.RECEIPT, StatementField.AT) if field not in mapped.columns
    }
    if mapped.sign is None or any(field not in mapped.columns for field in NEEDED[mapped.sign]):
        sentences[StatementField.AMOUNT] = _AMOUNTS
    if mapped.time_format is None:
        sentences[TIME_FORMAT] = _TIMES
    if mapped.sign is SignRule.DIRECTION and not (mapped.money_in and mapped.money_out):
        sentences[MONEY_IN] = _DIRECTIONS
    return sentences


def is_enough(mapped: Guess) -> bool:
    return not missing(mapped)


def mistakes(words: Translator, mapped: Guess) -> dict[str, str]:
    return {field: words(sentence) for field, sentence in missing(mapped).items()}


def name_mistake(words: Translator) -> str:
    return words(_LAYOUT_NAME)
