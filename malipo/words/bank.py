"""The files of banks: why a statement, an entry or a layout cannot be read, or does not add up."""

FORMATS = {
    "payout_layout_unreadable": "The layout of the payout file cannot be read: {why}.",
    "bank_entry_currency": "The currency is {currency!r}, not TZS.",
    "bank_entry_amount": "The amount {amount!r} is none of a bank's statement.",
    "bank_entry_sign": "It says neither credit nor debit, but {sign!r}.",
    "bank_entry_day": "The day {day!r} does not exist.",
    "bank_entry_parts": "Its parts do not add up to its amount.",
    "bank_entry_format": "{text!r} is not written as MT940 says.",
    "bank_statement_sum": "Its opening balance and its entries make {computed}, and it closes with {said}.",
    "bank_statement_no_opening": "It has no opening balance.",
    "bank_statement_no_closing": "It has no closing balance.",
    "bank_statement_not_continued": "One of its statements closes with {closing}, and the next one opens with "
    "{opening}.",
    "bank_statement_not_following": "{name}, the statement before it, closes with {closing}, and it opens with "
    "{opening}.",
    "bank_statement_outside": "Entry {row} is of {day}, which is not one of its days.",
    "bank_statement_cut": "It ends before it is complete.",
}

SENTENCES = {**FORMATS}
