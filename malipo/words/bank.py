"""Banks: why a file cannot be read or does not add up, and what operators are refused about payout files and lines."""

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

ACCOUNTS = {
    "payer_account_bic": "{bic!r} is no BIC: 8 or 11 capital letters and digits, such as CORUTZTZ.",
    "payer_account_number": "An account's number is 5 to 34 letters, digits, slashes and hyphens.",
    "payer_account_name": "The holder's name is up to {most} of the characters that banks take.",
    "payer_account_layout": "A layout of a bank's files has at most {most} characters.",
    "payer_account_statement_layout": "The layout of the bank's statement cannot be read: {why}.",
    "payer_account_unknown": "We have no bank account {name!r}. There are: {known}.",
    "payer_account_several": "We have several bank accounts: {known}. Say which.",
    "payer_account_same": "The account {number} is known just so.",
}

FILES = {
    "payout_file_unknown": "There is no payout file {name!r}.",
    "payout_file_nothing_due": "No settlement waits that could be sent now. Not fit: {left_out}.",
    "payout_file_not_marked": "No worker runs, or it is slow. The file can be downloaded once a worker has noted "
    "outside of the database that you have asked for it. Try again in a moment.",
    "payout_file_handed_in": "By our books nobody has downloaded the file {file}, and {name} has ended, or a statement "
    "has a debit of it: the bank has the file, or has paid it by another one. Do not hand it in. What complete "
    "statements do not have of it, note as refused.",
    "payout_file_account_stopped": "The bank account to which the file {file} sends {name} was stopped after the "
    "approval: perhaps somebody is stealing the money. Do not hand the file in. If nobody has, void it. If the bank "
    "has it, ask the bank at once not to pay this transfer, or to call it back.",
    "payout_file_account_held": "The file {file} is of before the restore, and no owner has confirmed the bank account "
    "of {name} since: perhaps it was stopped. Ask the merchant to confirm or stop it.",
    "payout_file_asked_for": "Somebody has asked for the file {file}, and perhaps has it. It is void if the bank has "
    "refused it, or if complete statements do not have it.",
    "payout_file_restored_since": "The database was restored after the approval of the file {file}. That somebody had "
    "it may be lost: it is void if the bank has refused it, or if complete statements do not have it.",
    "payout_file_nothing_left": "None of its settlements can be sent now. Reject the file.",
    "payout_file_unknown_debits": "The bank shows debits with keys like ours that nobody knows: {count}. Decide "
    "about them first: they may be settlements that are paid already.",
    "payout_file_gathered": "The file {file} waits for its approval.",
    "payout_file_approved": "The file {file} is approved: money can leave.",
    "payout_file_voided": "The file {file} is void.",
    "payout_file_not_covered": "Complete statements are needed from {first} to {last}, which is three banking days "
    "after its last download, without its debits. A day that may be a holiday needs one too, or stands in "
    "MALIPO_BANK_HOLIDAYS.",
    "payout_file_paid": "A statement has a debit of the file {file}: the bank has paid from it.",
    "payout_file_other_message": "Write down the bank's refusal with the MsgId {message_id}: it must be the refusal "
    "of this file.",
    "payout_file_no_line": "The file {file} has no transfer {name!r}.",
    "payout_file_line_ended": "{name} has ended, or a statement has its debit.",
}

IMPORTS = {
    "bank_import_no_statement": "{name} has no statement of a bank.",
    "bank_import_unknown_account": "We have no bank account {account!r}. Nothing was imported.",
    "bank_import_which_account": "The file does not say its account. Say which of ours it is.",
    "bank_import_other_account": "{name} is the statement of {account}, not of the account that you have named.",
    "bank_import_unreadable": "Entries of {name} cannot be read. Nothing was imported.",
    "bank_import_does_not_add_up": "The bank's statement {name} does not add up. Nothing was imported.",
    "bank_import_contradicts": "The bank's statement {name} contradicts {other}, which has the same days. Nothing "
    "was imported. If this one is right, withdraw that one with another operator.",
    "bank_import_row": "Entry {row}: {why}",
    "bank_import_no_days": "It does not say which days it has.",
    "bank_import_balance": "When {day} began, the balance was {ours} by this one, and {theirs} by the other.",
    "bank_import_only_here": "Entries that only this one has: {count}. The first is of {day}, {amount}, reference "
    "{reference}.",
    "bank_import_of_others": "Entries that are of other transfers than in the other: {count}. The first is of {day}, "
    "{amount}, reference {reference}.",
    "bank_import_only_there": "Entries that only the other has: {count}. The first is of {day}, {amount}, reference "
    "{reference}.",
    "bank_statement_unknown": "There is no bank statement {name!r}.",
    "bank_statement_not_taken": "The bank statement {name} does not count.",
    "bank_statement_has_effects": "Lines that only {name} has have ended settlements, or were booked: {count}. That "
    "is not undone.",
}

DECISIONS = {
    "bank_exception_unknown": "There is no line of the bank {name!r} that waits for a decision.",
    "bank_exception_resolved": "The line of {name} has its place.",
    "bank_decision_terms": "Not enough, or too much, is said for {action!r}.",
    "bank_decision_account": "Of the accounts of the house, it is one of these: {known}.",
    "bank_decision_no_settlement": "There is no settlement {name!r}.",
    "bank_decision_no_booking": "There is no booking {name!r} at the bank without a line.",
    "bank_decision_amount": "The line is {line}, and this is {other}: the amounts must be equal.",
    "bank_decision_not_open": "{name} is {status}: a debit needs one that was sent, and a return one that was paid.",
    "bank_decision_not_a_debit": "The line of {name} is not a debit that a restored database has lost.",
    "bank_decision_open": "The line is exactly what is open of {name}: match or adopt it.",
    "bank_decision_cents": "The line of {name} has cents, and no settlement has.",
    "bank_nothing_waits": "Nothing about {name!r} waits for a second operator.",
    "bank_reason": "Say what the bank says, or what you have looked at, in {least} to {most} characters.",
}

SENTENCES = {**FORMATS, **ACCOUNTS, **FILES, **IMPORTS, **DECISIONS}
