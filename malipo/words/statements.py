"""Statements of networks: why a file, a line or a cell cannot be read, does not add up, or is not imported."""

from malipo.reconciliation.statements import stored_problems

FILES = {
    "table_empty": "{name} is empty.",
    "table_none": "{name} is not CSV or XLSX. Open it in a spreadsheet, and save it as one of these.",
    "table_damaged": "{name} cannot be read as {kind}: {detail}.",
    "table_memory": "{name} needs more than {most} MB of memory to be read. Keep only the sheet with the lines, and "
    "save it as CSV.",
    "table_seconds": "{name} takes longer than {most} seconds to be read. Keep only the sheet with the lines, and save "
    "it as CSV.",
    "table_seconds_of_a_page": "The file takes longer than {most} seconds to be read.",
    "table_unpacked": "{name} is larger than {most} MB when it is unpacked. Keep only the sheet with the lines, and "
    "save it as CSV.",
    "table_rows": "{name} has more than {most} rows. Keep only the sheet with the lines, and save it as CSV.",
    "table_columns": "{name} has more than {most} columns. Keep only the sheet with the lines, and save it as CSV.",
    "table_cells": "{name} has more than {most} cells. Keep only the sheet with the lines, and save it as CSV.",
    "table_characters": "{name} has more than {most} characters. Keep only the sheet with the lines, and save it as "
    "CSV.",
    "layout_heading": "What is above the lines of {name} cannot be read. {why}",
    "layout_no_header": "{name} has no row with the columns {columns}: it is not a statement of {profile!r}.",
    "profile_unknown": "There is no layout {name!r}: there are {known}.",
    "profile_none_fits": "No layout for {channel} knows the columns of {name}.",
    "profile_own_layout": "{name} is a layout of malipo's own: only a saved one can be an aggregator's.",
    "profile_word_means_both": "A word means that money moved, or that it did not, and not both: {both}.",
    "profile_no_word_moved": "No word of the layout would mean that money moved. Then the status is not read, and "
    "every row counts, also what failed. Say which word means that money moved.",
}

# The sentence of a cell begins with the name of its column.
LINES = {
    "line_unreadable": "Row {row}: {why}",
    "lines_more_unreadable": "There are more.",
    "column_amount": "The amount",
    "column_paid_in": "What was paid in",
    "column_withdrawn": "What was withdrawn",
    "column_balance": "The balance",
    "column_time": "The time",
    "value_above_header": "A value above the header",
    "cell_date": "{column} is a date, not an amount.",
    "cell_no_amount": "{column} is {cell}, which is not an amount.",
    "cell_other_mark": "{column} is {cell}, which is not an amount: the layout says that {mark!r} is the mark before "
    "the cents.",
    "cell_ambiguous_mark": "{column} is {cell}, which is a thousand times as much for another program: write amounts "
    "such as 1000 or 1000.00 in the file, or take a layout that says which mark is before the cents.",
    "cell_parts_of_a_cent": "{column} is {cell}, which has parts of a cent.",
    "cell_too_much": "{column} is {cell}, which is more than any account holds.",
    "cell_no_time": "{column} is {cell}, which is not a time such as {example}.",
    "cell_no_such_time": "{column} is {cell}, and there is no such time.",
    "cell_year": "{column} is {cell}, and no statement is of that year.",
    "row_no_receipt": "The receipt is missing.",
    "row_long_receipt": "The receipt has more than {most} characters.",
    "row_no_amount": "The amount is missing.",
    "row_in_and_out": "Money came in ({came}) and went out ({went}) in one line.",
    "row_direction": "The direction is {word!r}: not one of {known}.",
    "status_unknown": "The layout does not say whether money moved if the status is {word!r}. Rows with it: {count} "
    "({rows}).",
    "status_empty": "The layout does not say whether money moved if the status is empty. Rows without it: {count} "
    "({rows}).",
}

SUMS = {str(code): sentence for code, sentence in stored_problems.SENTENCES.items()} | {
    "statement_account": "{channel}, account {account}",
    "statement_not_covered": "No statement covers the time from {first} to {last}, in which the balance changed by "
    "{change}.",
    "difference_opening": "It opens with {opening}; {name} opens with {other}.",
    "difference_closing": "It closes with {closing}; {name} closes with {other}.",
    "difference_only_new": "Lines that {name} does not have: {count}, together {amount}.",
    "difference_only_other": "Lines that only {name} has: {count}, together {amount}.",
    "difference_balance_at": "{late} opens with {opening}; {early} has {balance} at that moment.",
    "difference_offset": "After the same lines its balances are {amount} from those of {name}.",
}

COVERAGE = {
    "coverage_no_statement": "There is no statement of {first} to {last}.",
    "coverage_not_covered": "No statement covers {first} to {last}.",
    "coverage_file": "{name} does not count: {why}",
    "coverage_unknown_time": "It does not say which time it covers, or has no balances.",
    "coverage_account": "Account {account}: {why}",
    "coverage_channel": "{channel}: {why}",
}

CLOSE = {
    "day_invalid": "A day is written as 2026-11-15, not {text!r}.",
    "close_not_over": "{day} can be closed from {when} on, in Dar es Salaam.",
    "close_out_of_order": "Days are closed in order: the next one is {following}.",
    "close_closed": "{day} is closed, and does not change.",
    "close_not_left_out": "Not left out, because they did not move or have a whole statement of {day}: {channels}.",
    "close_statements_missing": "Statements of {day} are missing.",
    "close_does_not_add_up": "{day} does not add up. Resolve what is open, or accept the difference with another "
    "operator.",
    "close_changed": "What is known of {day} has changed since it was proposed: reject the proposal, and close the day "
    "again.",
    "close_nothing_proposed": "Nobody has proposed to close {day} although it does not add up.",
    "close_needs_reason": "Say why.",
    "close_reason": "Say in 3 to 500 characters why the day is closed so.",
    "close_key_unknown": "There is no key {name!r}.",
    "close_content_changed": "{day}: its content is not that of its hash.",
    "close_previous_differs": "{day}: it does not follow the close before it.",
    "close_days_missing": "{day}: the days between it and {before} are missing.",
    "close_key_unreadable": "{day}: the key that signed it cannot be read.",
    "close_signature_wrong": "{day}: its signature is wrong.",
    "close_open_items_changed": "{day}: what was open at its end has been changed.",
    "close_moves_changed": "{day}: the ledger's moves of that day are not those that were closed: {more}.",
    "close_removed": "{day}: the audit log says that it was closed as {noted}, and it is not there.",
    "close_hash_differs": "{day}: the audit log says that it was closed as {noted}, and it is {hash}.",
    "close_published_key_differs": "The published key {key_id} is not the one that signs.",
}

IMPORTS = {
    "period_invalid": "Say from when to when the statement is, both, such as 2026-11-15: a day, or a time such as "
    "2026-11-15 14:00.",
    "period_ends_first": "A statement ends after it begins.",
    "statement_says_itself": "The file says itself from when to when it is, and that is something else.",
    "statement_does_not_add_up": "{name} does not add up. Nothing was imported.",
    "statement_bad_lines": "Lines of the file cannot be read. Nothing was imported.",
    "statement_unknown_statuses": "{name} has rows with a status that the layout {profile} does not know. Nothing was "
    "imported. Say what it means.",
    "statement_same_file": "{other} is the same file, and was imported as {where}. A file is the statement of one "
    "account. If that one is wrong, withdraw it first.",
    "statement_same_lines": "{name} has lines that {other} has, which was imported as {where}: the same receipts, "
    "amounts and kinds. A line is of one account, so this file is of that account, or one of the two is wrong. If that "
    "one is wrong, withdraw it first.",
    "statement_most_lines": "Most lines of {name} are in {other}, of the time of both, which was imported as {where}. "
    "A line is of one account. If that one is wrong, withdraw it first.",
    "statement_contradicts": "{name} contradicts {other}, which covers the same time. Nothing was imported. If this "
    "one is right, withdraw that one with another operator, then import this one.",
    "statement_nothing_known": "Nothing in {name} is known here. Nothing was imported.",
    "stranger_no_payment": "None of its {count} lines has the receipt or the reference of a payment of {where}, and it "
    "does not continue a statement of that account.",
    "stranger_another_account": "Is it the statement of another network, or of another account? Then nothing of it may "
    "be booked here.",
    "stranger_first": "If it is the first statement of this account, or of a time without payments, say so.",
    "fetch_no_api": "No network that carries {channel} gives statements by API. Download its file, and import it.",
    "fetch_not_over": "{day} is not over yet, in Dar es Salaam.",
    "matching_under_way": "Statements are being matched right now. Try again in a moment.",
    "import_by_author": "You have said how this file is read, or of which payment it is, so another operator approves "
    "it.",
    "import_by_teller": "You brought the file that says what this line is, or said how it is read: another operator "
    "approves it.",
    "import_nothing_waits": "Nothing of this file waits for a second operator.",
    "withdraw_unknown": "There is no statement {name!r}.",
    "withdraw_by_answerable": "You imported this file, or said how it is read: another operator agrees that it is "
    "withdrawn.",
    "withdraw_done": "This statement was withdrawn.",
    "withdraw_not_of_statement": "Only the fees and sweeps of a statement are undone here. To undo a decision about "
    "one line, open its exception.",
    "withdraw_decided": "Operators have matched, booked or adopted {count} of its lines. Undo that first.",
    "withdraw_proposed": "{count} exceptions of its lines, or of payments that it does not have, wait for a second "
    "operator. Approve or reject them first.",
}

SENTENCES = {**FILES, **LINES, **SUMS, **COVERAGE, **CLOSE, **IMPORTS}
