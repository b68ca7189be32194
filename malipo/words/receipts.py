"""Sentences about the receipt log: why no checkpoint is signed, what its check finds, and what operators are refused.

The words that a customer reads on a receipt are in `pay_pages/templates/receipt.html`.
"""

SENTENCES = {
    "receipt_log_no_state": "The state folder of this host has not the last checkpoint of the receipt log: it is new, "
    "was lost, or this host was off while another one signed. Nothing is signed here until another host signs, or an "
    "operator begins another log.",
    "receipt_log_rewritten": "The receipt log in the database is not the one that this host has signed: it lost or "
    "changed leaves. Nothing is signed.",
    "receipt_log_published_differs": "The receipt log in the database is not the one that was published: it lost or "
    "changed leaves. Nothing is signed.",
    "receipt_log_lost": "This host has signed a later receipt log, which the database does not know. Nothing is "
    "signed.",
    "receipt_check_leaves": "The log {log} lacks leaves after {leaf}.",
    "receipt_check_entry": "The entry of {payment} is not the hash of its salt and fact.",
    "receipt_check_fact": "The fact of {payment} is not what its payment says: {fields}.",
    "receipt_check_unknown": "The log has a fact of {payment}, and no payment says that.",
    "receipt_check_missing": "The log has no leaf of {payment}.",
    "receipt_check_tile": "The tile {tile} of level {level} of the log {log} does not follow from its leaves.",
    "receipt_check_root": "The checkpoint of the log {log} for {size} leaves has not their root.",
    "receipt_check_signature": "The checkpoint of the log {log} for {size} leaves is not signed by its key.",
    "receipt_check_genesis": "The first entry of the log {log} is not the last checkpoint of a log before it.",
    "receipt_check_day": "On {day} the close says that {channel} moved {closed}, and the log says {logged}.",
    "receipt_log_no_log": "There is no receipt log yet: switch it on with MALIPO_RECEIPT_LOG, and let a payment "
    "complete.",
    "receipt_log_reason": "Say why, in 3 to 500 characters: the audit log keeps it.",
    "receipt_log_nothing_to_erase": "There is no receipt of this payment in the log, or it was erased already.",
    "receipt_log_no_such_size": "The last checkpoint of the log covers {size} leaves.",
}
