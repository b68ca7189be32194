"""Form errors: what is wrong with a field, in the user's language."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus

from malipo.accounts.password_strength import BEST_SCORE, LEAST_SCORE, PasswordProblem, Weakness, WeakPassword
from malipo.dashboard.language import Translator
from malipo.errors import Conflict, Forbidden, Missing, Refusal
from malipo.validation.fields import Fields
from malipo.words.say import SENTENCES as REFUSALS
from malipo.words.say import say

# By the error code of the API. A code without a sentence here gets the general one.
SENTENCES = {
    "field_required": "Please fill this in.",
    "amount_invalid": "Type a whole number of shillings, such as 25,000.",
    "amount_too_small": "The least is TZS {least}.",
    "amount_too_large": "The most is TZS {most}.",
    "refund_leaves_too_little": "Refund all that is left, or leave at least TZS 500.",
    "order_reference_invalid": "1 to 64 characters that can be printed.",
    "phone_invalid": "This is not a Tanzanian mobile number. Type it like 0754 000 100.",
    "contact_invalid": "This is not a phone number. Type it like 0754 000 100 or 022 212 3456.",
    "tin_invalid": "A TIN has nine digits, as 123-456-789.",
    "channel_invalid": "Choose a network.",
    "digits_lost": "The spreadsheet has shortened this, and digits may be lost. Compare it, and save it.",
    "second_person_required": "Somebody else must approve it: you have made it yourself.",
    "second_person_waits": "One of the two was invited or reset by somebody else. Until an owner who had no part in it "
    "vouches for it, or for 72 hours, they do not count as a second person.",
    "account_not_vouched_for": "Somebody else has invited you, made a link for your password, or reset your two-step "
    "log-in. Until an owner who had no part in it vouches for you, or for 72 hours, you cannot make a key that pays "
    "out or approves, change roles, or remove or reset an owner; nor pay out or approve, if an operator of the service "
    "did it.",
    "batch_not_approvable": "It no longer awaits approval.",
    "payout_paid_after_all": "Nothing was approved: the failed payouts that lines {lines} pay again were paid after "
    "all, their networks report. Cancel this batch. What is still unpaid can then be paid again, without those lines.",
    "payout_in_doubt": "Nothing was approved: the failed payouts that lines {lines} pay again may have been paid after "
    "all, and this is being found out. Approve it later, or cancel it, and leave those lines out.",
    "batch_not_cancellable": "Every payout of it has ended: nothing can be cancelled.",
    "link_not_cancellable": "It can no longer be cancelled: it was paid, or it has expired.",
    "settlement_not_cancellable": "It can no longer be cancelled: it is in a file to the bank, or it has ended.",
    "nothing_to_settle": "There is too little in the wallet to send to the bank.",
    "no_bank_account": "There is no bank account that can be used now.",
    "bank_account_not_found": "There is no such bank account.",
    "bank_account_not_usable": "This bank account cannot be used now: it is not verified, still waits, or was stopped.",
    "bic_invalid": "A BIC has 8 or 11 letters and digits, such as CORUTZTZ.",
    "holder_name_letters": "In Latin letters, as the bank writes it: files to banks have no others.",
    "account_number_invalid": "5 to 34 digits and letters, as the bank writes it.",
    "every_invalid": "Choose how often.",
    "on_day_invalid": "Type a day of the month, from 1 to 31.",
    "onDay_invalid": "Type a day of the month, from 1 to 31.",
    "max_payments_invalid": "Type a whole number, such as 20.",
    "return_url_invalid": "Type an address that begins with https://.",
    "date_past": "Choose a day that is not over.",
    "text_too_long": "At most {most} characters.",
    "text_invalid": "There is a character in it that cannot be stored.",
    "email_invalid": "This is not an email address.",
    "date_invalid": "This is not a date, or not one that fits here.",
    "range_invalid": "The first day is after the last one.",
    "permissions_invalid": "Choose at least one permission.",
    "permissions_grow": "A key can only lose permissions. For more of them, make a new key.",
    "events_invalid": "Choose at least one event.",
    "address_invalid": "One of these is not an IP address or network, such as 196.41.0.0/16.",
    "role_invalid": "Choose a role.",
    "insufficient_balance": "The wallet does not hold enough for this.",
    "password_wrong": "This is not your current password.",
    "password_length": "At least 10 characters, and at most 200.",
    "password_common": "Too easy to guess: it is like one that many people use. Use several words that do not belong "
    "together.",
    "password_names": "Too easy to guess: it is like your name, your email, your business or the name of this service. "
    "Use several words that do not belong together.",
    "password_number": "Too easy to guess: it is a number, such as that of a phone. Use several words that do not "
    "belong together.",
    "password_repeated": "Too easy to guess: it repeats itself. Use several words that do not belong together.",
    "password_sequence": "Too easy to guess: it is a row of letters, digits or keys. Use several words that do not "
    "belong together.",
    "password_date": "Too easy to guess: it is a date. Use several words that do not belong together.",
    "password_guessable": "Too easy to guess. Use several words that do not belong together.",
    "link_invalid": "This link was used already, or is too old. Ask for a new one.",
    "invalid_credentials": "The email or the password is not right.",
    "too_many_attempts": "Too many attempts. Wait a few minutes, then try again.",
    "rate_limited": "You opened very many pages in a short time. Wait a moment, then try again.",
    "query_timeout": "This took too long and was stopped. Nothing was changed. Ask for less: a shorter range of time, "
    "or more characters in the search.",
    "file_being_read": "Another file of yours is being read. Wait until it has ended, then send this one again.",
    "files_being_read": "Several files are being read at this moment. Try again in a few seconds.",
    "second_factor_required": "Type the code that your app shows.",
    "second_factor_wrong": "This code is not right, or it was used already. Wait for the next one.",
    "too_many_codes": "Too many wrong codes. Wait an hour, use a browser in which you have logged in before, or use a "
    "recovery code.",
    "merchant_inactive": "This business is not active. Ask the operators of this service.",
    "too_many_keys": "There are as many keys as there may be. Revoke one first.",
    "too_many_webhooks": "There are as many endpoints as there may be. Delete one first.",
    "webhook_inactive": "The endpoint is paused. Resume it first.",
    "no_rotation": "The secret is not being changed.",
    "url_invalid": "This address will not do.",
    "last_owner": "Your business needs an owner. Make somebody else one first.",
    "email_taken": "This email already has an account.",
    "restored": "No payments are taken at the moment: the service was restored from a backup, and its operators check "
    "every payment first. Nothing has changed. Try again later.",
    "on_hold": "No payments are taken at the moment: the operators of this service have stopped them. Nothing has "
    "changed. Try again later.",
    "rotation_under_way": "The secret is being changed already. Finish that first.",
}
_GENERAL = "This is not right."
# For a form that names what it had shown, when that has changed.
CHANGED = "It has changed since you looked. Look at it again."


def sentences() -> Iterator[str]:
    """The sentences that operators meet, to be translated."""
    yield CHANGED
    yield from REFUSALS.values()


def in_words(words: Translator, fields: Fields) -> dict[str, str]:
    """One sentence for each wrong field: its first mistake."""
    sentences: dict[str, str] = {}
    for mistake in fields.mistakes:
        sentences.setdefault(mistake.field, sentence(words, mistake.code, mistake.bounds))
    return sentences


def sentence(words: Translator, code: str, bounds: Mapping[str, int] | None = None) -> str:
    shown = {name: f"{value:,}" for name, value in (bounds or {}).items()}
    return words(SENTENCES.get(code, _GENERAL), **shown)


def of_refusal(words: Translator, refusal: Refusal) -> str:
    """The refusal of a use case: by its code; of one that a page raised, in the page's words."""
    if isinstance(refusal, WeakPassword):
        return _of_weak(words, refusal.weak)
    if refusal.code in SENTENCES:
        return words(SENTENCES[refusal.code], **refusal.values)
    return words(refusal.message) if refusal.message else say(refusal, words)


def _of_weak(words: Translator, weak: PasswordProblem) -> str:
    why = sentence(words, weak.reason)
    if weak.reason is Weakness.LENGTH:
        return why
    strength = words(
        "Strength: {score} of {best}; it needs {least}.", score=weak.score, best=BEST_SCORE, least=LEAST_SCORE
    )
    return f"{why} {strength}"


def status_of(refusal: Refusal) -> HTTPStatus:
    """The HTTP status of the page that shows the form again. If the object no longer exists, the status is that of a
    changed one."""
    match refusal:
        case Forbidden():
            return HTTPStatus.FORBIDDEN
        case Conflict() | Missing():
            return HTTPStatus.CONFLICT
        case _:
            return HTTPStatus.BAD_REQUEST
