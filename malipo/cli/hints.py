"""The command or option that helps with a refusal, by its code. The command line adds it to the sentence of
`malipo/words`."""

from malipo.errors import Problem, Refusal
from malipo.words.say import say

HINTS = {
    "archive_differs": "malipo close verify --ledger",
    "approval_changed": "malipo approvals",
    "booking_not_proposed": "malipo wallet pending, malipo floats pending",
    "case_repeat_or_other": "malipo exceptions propose",
    "case_network_waits": "--despite-waiting",
    "case_pending": "malipo payments cancel",
    "close_does_not_add_up": "--accept-difference --reason WHY",
    "close_needs_reason": "--reason WHY",
    "exception_payment_resolved": "malipo payments resolve",
    "exception_resolved": "malipo exceptions undo",
    "exception_unknown": "malipo exceptions list",
    "invoice_no_rate": "malipo invoices tax-rate 18 --from DAY",
    "operator_logged_in": "malipo operators login",
    "operator_missing": "malipo operators list",
    "profile_no_word_moved": "--moved WORD",
    "statement_contradicts": "malipo statements withdraw {other_id}",
    "statement_most_lines": "malipo statements withdraw {other_id}",
    "statement_same_file": "malipo statements withdraw {other_id}",
    "statement_same_lines": "malipo statements withdraw {other_id}",
    "statement_unknown_statuses": "malipo statements layout {profile} --moved WORD (or --not-moved WORD)",
    "stranger_first": "--new-account",
    "suspense_released": "malipo books take-back",
    "withdraw_decided": "malipo exceptions undo",
    "withdraw_not_of_statement": "malipo exceptions undo",
    "withdraw_unknown": "malipo statements list",
}


def say_with_hint(wrong: Refusal | Problem) -> str:
    sentence = say(wrong)
    hint = HINTS.get(wrong.code)
    return sentence if hint is None else f"{sentence.removesuffix('.')}: {hint.format(**wrong.values)}"
