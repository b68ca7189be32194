"""The actions of the audit log as sentences for operators. Those about a merchant's own people are the merchants'."""

from malipo.audit_log.store import AuditLogEntry
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import audit_log as merchants_log
from malipo.dashboard.merchant.audit_log import values_of

SENTENCES = {
    "merchant.created": "Opened the account of a merchant",
    "merchant.activated": "Made a merchant active again",
    "merchant.deactivated": "Stopped a merchant",
    "operator.added": "Added the operator {name}",
    "operator.logged_in": "Logged in as an operator",
    "operator.logged_out": "Logged out as an operator",
    "operator.address_changed": "Changed the address of the operator {name} for messages",
    "operator.password_set": "Set the password of the operator {name}",
    "operator.vouched_for": "Vouched for the operator {name}",
    "payment.contradicted": "A network reversed its reported result of a payment",
    "payment.resolution_proposed": "Proposed how a payment of {amount} has ended",
    "payment.resolution_rejected": "Rejected what was proposed about a payment of {amount}",
    "payment.resolved": "Decided how a payment of {amount} has ended",
    "wallet.top_up": "Put {amount} into a wallet",
    "wallet.top_up_proposed": "Proposed to put {amount} into a wallet",
    "wallet.top_up_rejected": "Rejected a top-up of {amount}",
    "wallet.settlement": "Sent {amount} from a wallet to the merchant's bank",
    "wallet.settlement_proposed": "Proposed to send {amount} from a wallet to the merchant's bank",
    "wallet.settlement_rejected": "Rejected a settlement of {amount}",
    "operator.limits_changed": "The service began with other limits: an operator moves {amount} alone in 24 hours",
    "installation.fenced": "Found the database restored from a backup: nothing is sent",
    "installation.released": "Let sending begin again",
    "installation.release_proposed": "Proposed that sending begins again",
    "installation.release_rejected": "Rejected that sending begins again",
    "installation.held": "Held payments: {reason}",
    "installation.hold_ended": "Let held payments go",
    "ledger.checked": "Checked the ledger: {findings} findings",
    "receipt_log.begun": "Began another receipt log: {reason}",
    "receipt_log.key_change_wanted": "Let another key sign the receipt log: {reason}",
    "receipt.erased": "Erased the receipt of a payment: {reason}",
    "number.blocked": "Blocked {phone} for pay pages: {reason}",
    "number.unblocked": "Let pay pages ask {phone} again",
    "secrets.rotated": "Encrypted the secrets with a new key",
    "statement.imported": "Imported the statement {name}: {lines} lines",
    "statement.matched": "Had the lines of statements matched with payments",
    "statement.lines_unbooked": "Took lines out of a booking of fees or sweeps: they may be payments of ours",
    "statement.effects_proposed": "What a file alone would do waits for a second operator: {amount}",
    "statement.effects_approved": "Approved what a file alone does: {amount}",
    "statement.effects_rejected": "Rejected what a file alone would do: {amount}",
    "statement.withdraw_proposed": "Proposed to withdraw the statement {name}: {reason}",
    "statement.withdraw_rejected": "Rejected that the statement {name} is withdrawn",
    "statement.withdrawn": "Withdrew the statement {name}: {reason}",
    "statement.undo_proposed": "Proposed to undo a booking of {amount} of the statement {name}: {reason}",
    "statement.undo_rejected": "Rejected that a booking of {amount} of the statement {name} is undone",
    "statement.booking_undone": "Undid a booking of {amount} of the statement {name}: {reason}",
    "statement.charge_set": "Said what {channel} charges for a payment",
    "float.read": "Saw {amount} at {channel}",
    "float.from_bank": "Booked {amount} from the bank to {channel}",
    "float.from_bank_proposed": "Proposed to book {amount} from the bank to {channel}",
    "float.from_bank_rejected": "Rejected a transfer of {amount} from the bank to {channel}",
    "float.to_bank": "Booked {amount} from {channel} to the bank",
    "float.to_bank_proposed": "Proposed to book {amount} from {channel} to the bank",
    "float.to_bank_rejected": "Rejected a transfer of {amount} from {channel} to the bank",
    "books.booking": "Booked {amount} at the bank: {kind}",
    "books.booking_proposed": "Proposed to book {amount} at the bank: {kind}",
    "books.booking_rejected": "Rejected a booking of {amount} at the bank: {kind}",
    "exception.proposed": "Proposed what to do about an exception of {amount}",
    "exception.resolved": "Resolved an exception of {amount}",
    "exception.noted": "Wrote down what was found out about an exception of {amount}",
    "exception.rejected": "Rejected what was proposed about an exception of {amount}",
    "exception.undone": "Undid what was done about an exception of {amount}",
    "day.closed": "Closed the day {day}",
    "day.close_proposed": "Proposed to close the day {day} although it does not add up",
    "day.close_rejected": "Rejected to close the day {day} as it was",
    "statement_profile.saved": "Saved the layout {name} of a statement",
    "statement_profile.words": "Said what words of the status mean in the layout {name}",
    "statement_profile.aggregator": "Said whose account the layout {name} is of",
}

ACTIONS = {**merchants_log.SENTENCES, **SENTENCES}


def sentence_of(words: Translator, entry: AuditLogEntry) -> str:
    """An action without a sentence is shown by its name."""
    sentence = ACTIONS.get(entry.action)
    return entry.action if sentence is None else words(sentence).format_map(values_of(words, entry))
