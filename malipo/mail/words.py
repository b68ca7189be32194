"""The sentences of each kind of message, in English; in Kiswahili they are in `locale/sw.po`. Pure.

`{name}` in a sentence is a fact of the message. A message that gathers several things has other sentences for them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from malipo.messages.kinds import MessageKind
from malipo.webhooks.disable_endpoint import FAILED_TOO_LONG, GONE


class KindWords(NamedTuple):
    title: str  # on the page of choices
    subject: str
    says: tuple[str, ...]  # a paragraph each
    shown: tuple[str, ...] = ()  # the facts that are listed below them, by name
    button: str = ""
    subject_of_many: str = ""
    says_of_many: tuple[str, ...] = ()


LABELS = {
    "address": "IP address",
    "browser": "Browser",
    "system": "Device",
    "happened_at": "When",
    "name": "Name",
    "by": "By",
    "permissions": "Permissions",
    "last4": "Last four characters",
    "bank": "Bank",
    "account": "Account",
    "holder": "Account holder",
    "usable_at": "Can be used from",
    "reference": "Reference",
    "amount": "Amount",
    "reason": "Reason of the bank",
    "number": "Number",
    "month": "Month",
    "url": "Endpoint",
    "why": "Why",
    "failed": "Failed",
    "of": "Payouts in the batch",
    "limit_amount": "Your limit",
    "available_amount": "In the wallet",
    "collected_amount": "Collected",
    "collected": "Completed collections",
    "collections_failed": "Failed collections",
    "paid_out_amount": "Paid out",
    "paid_out": "Completed payouts",
    "payouts_failed": "Failed payouts",
    "until": "The link works until",
    "merchant": "Business",
    "sent_amount": "In files to the bank",
    "paid_amount": "Paid in the last three days",
    "files": "Payout files",
}

_NOT_YOU = (
    "If this was not you, somebody else knows your password: change it now in the settings, end all other sessions, "
    "and tell an owner of your business."
)
_NOT_ASKED = (
    "If you have not asked for this, speak with the owners of your business at once, and with whoever runs this "
    "service."
)
_NOT_YOU_OPERATOR = (
    "If this was not you, somebody else may be using your account: speak with another operator at once, and set a new "
    "password at the command line."
)
_TELL = "If you do not know about this, speak with the other owners at once, and with whoever runs this service."
_LINK_SAYS = (
    "The link works once, until {until}. Opening it changes nothing: you choose your password on the page that it "
    "shows. If you did not expect this message, ignore it."
)

_STOP_SAYS = (
    "If something about it is wrong, stop it now. The link needs no password, works once, until {until}, and asks on "
    "its page before it stops anything."
)

KIND_WORDS: dict[MessageKind, KindWords] = {
    MessageKind.INVITATION: KindWords(
        title="You are invited",
        subject="{business}: choose your password",
        says=("{by} has given you access to the payments of {business}. Choose a password to log in.", _LINK_SAYS),
        button="Choose a password",
    ),
    MessageKind.PASSWORD_LINK: KindWords(
        title="A link for a new password",
        subject="{business}: choose a new password",
        says=(
            "{by} has asked us to send you a link for a new password. The password that you have works until you "
            "choose another.",
            _LINK_SAYS,
        ),
        button="Choose a new password",
    ),
    MessageKind.PASSWORD_CHANGED: KindWords(
        title="Your password was changed",
        subject="Your password was changed",
        says=("Your password was changed, and all sessions have ended.", _NOT_YOU),
        shown=("happened_at", "address"),
    ),
    MessageKind.NEW_PLACE: KindWords(
        title="A log-in from a new place",
        subject="A log-in from a new place",
        says=("Somebody has logged in to your account from a place that you have not used before.", _NOT_YOU),
        shown=("happened_at", "address", "browser", "system"),
    ),
    MessageKind.SECOND_FACTOR_ENROLLED: KindWords(
        title="Two-step log-in was set up",
        subject="Two-step log-in was set up",
        says=("From now on, a log-in to your account needs a code of the authenticator app too.", _NOT_YOU),
        shown=("happened_at", "address"),
    ),
    MessageKind.SECOND_FACTOR_REMOVED: KindWords(
        title="Two-step log-in was removed",
        subject="Two-step log-in was removed",
        says=("From now on, the password alone is enough to log in to your account.", _NOT_YOU),
        shown=("happened_at", "address"),
    ),
    MessageKind.SECOND_FACTOR_RESET: KindWords(
        title="Two-step log-in was reset",
        subject="Two-step log-in was reset",
        says=(
            "Somebody has reset your two-step log-in, and your sessions have ended. From now on, the password alone is "
            "enough to log in to your account. Set it up again.",
            _NOT_ASKED,
        ),
        shown=("happened_at", "by"),
    ),
    MessageKind.RECOVERY_CODES_MADE: KindWords(
        title="New recovery codes were made",
        subject="New recovery codes were made",
        says=("New recovery codes were made for your account. The codes from before no longer work.", _NOT_YOU),
        shown=("happened_at", "address"),
    ),
    MessageKind.ADDRESS_CHANGED: KindWords(
        title="The address of your messages was changed",
        subject="The address of your messages was changed",
        says=(
            "Messages for the operator {name} no longer come to this address.",
            "If you do not know about this, speak with the other operators at once.",
        ),
        shown=("happened_at", "by"),
    ),
    MessageKind.KEY_CREATED: KindWords(
        title="A new API key",
        subject="A new API key: {name}",
        says=("A new API key was made for your business. Whoever has it can do what its permissions allow.", _TELL),
        shown=("name", "by", "permissions", "last4", "happened_at"),
        button="See the API keys",
    ),
    MessageKind.BANK_ACCOUNT_ADDED: KindWords(
        title="A new bank account",
        subject="A new bank account: {bank}, {account}",
        says=(
            "A bank account was added, to which the balance of your business can be sent once we have verified it and "
            "a waiting time has passed.",
            _STOP_SAYS,
            _TELL,
        ),
        shown=("bank", "account", "holder", "by", "happened_at"),
        button="Stop this bank account",
    ),
    MessageKind.BANK_ACCOUNT_VERIFIED: KindWords(
        title="A bank account was verified",
        subject="A bank account was verified: {bank}, {account}",
        says=(
            "A bank account was verified. After the waiting time, the balance of your business can be sent to it.",
            _STOP_SAYS,
            _TELL,
        ),
        shown=("bank", "account", "holder", "usable_at"),
        button="Stop this bank account",
    ),
    MessageKind.BANK_ACCOUNT_STOPPED: KindWords(
        title="A bank account was stopped",
        subject="A bank account was stopped: {bank}, {account}",
        says=(
            "A bank account of your business was stopped. Nothing new is sent to it. If money was in a file to the "
            "bank already, its amount stands below: it may still arrive, and whoever runs this service was told at "
            "once.",
            "An account that it has replaced does not come back. If no other one can be used, withdrawals and the "
            "schedule have no bank account, and the money stays in the wallet.",
            _TELL,
        ),
        shown=("bank", "account", "sent_amount", "by", "happened_at"),
        button="See the bank accounts",
    ),
    MessageKind.LOOK_AFTER_RESTORE: KindWords(
        title="After a restore: look at your bank accounts",
        subject="Nothing is sent to your bank until you have looked",
        says=(
            "The service was restored from a backup, and what was done shortly before {restored_at} is lost: bank "
            "accounts that you have stopped since are back, withdrawals that you have cancelled are open again, and "
            "the schedule is as it was.",
            "Nothing is sent to your bank before an owner has looked. First cancel the withdrawals that are not to "
            "go, and stop the bank accounts that are wrong. Then confirm the others, and save the schedule again.",
        ),
        button="See the bank accounts",
    ),
    MessageKind.BATCH_WAITING: KindWords(
        title="Payouts wait for my approval",
        subject="Payouts await approval: {name}",
        says=("Payouts of {amount} await approval. Nothing is paid before.",),
        shown=("name", "by"),
        button="See the batch",
        subject_of_many="{count} batches of payouts await approval",
        says_of_many=("{count} batches of payouts, {amount} together, await approval. Nothing is paid before.",),
    ),
    MessageKind.BATCH_FAILED: KindWords(
        title="Payouts of a batch have failed",
        subject="{failed} payouts have failed: {name}",
        says=("A batch of payouts is complete, and some of them have failed. Their amounts are in the wallet again.",),
        shown=("name", "failed", "of"),
        button="See the batch",
    ),
    MessageKind.PAYOUTS_FAILED: KindWords(
        title="Single payouts have failed",
        subject="A payout has failed: {reference}",
        says=("A payout of {amount} has failed. The amount is in the wallet again.",),
        shown=("reference",),
        button="See the payout",
        subject_of_many="{count} payouts have failed",
        says_of_many=(
            "{count} payouts, {amount} together, have failed within a short time. The amounts are in the wallet again.",
        ),
    ),
    MessageKind.SETTLEMENT_COMPLETED: KindWords(
        title="The bank has paid a settlement",
        subject="The bank has sent {amount} to your bank account",
        says=("The bank has paid a settlement. Your own bank may need some days to book it.",),
        shown=("reference", "amount", "bank", "account"),
        button="See the settlement",
    ),
    MessageKind.SETTLEMENT_RETURNED: KindWords(
        title="The bank has returned a settlement",
        subject="The bank has returned {amount}",
        says=("The bank has returned a settlement. The money is in the wallet again.",),
        shown=("reference", "amount", "bank", "account", "reason"),
        button="See the settlement",
    ),
    MessageKind.INVOICE_ISSUED: KindWords(
        title="An invoice for the fees of a month",
        subject="Invoice {number}: fees of {month}",
        says=("Your invoice for the fees of {month} is there. It is paid: the fees were kept from your payments.",),
        shown=("number", "month", "amount"),
        button="See the invoice",
    ),
    MessageKind.ENDPOINT_DISABLED: KindWords(
        title="A webhook endpoint was disabled",
        subject="A webhook endpoint was disabled",
        says=(
            "Your server did not accept our webhooks, and we no longer send any to this endpoint. Fix it, enable the "
            "endpoint, and have the missing events sent again.",
        ),
        shown=("url", "why"),
        button="See the endpoints",
    ),
    MessageKind.WALLET_LOW: KindWords(
        title="The wallet is below an amount",
        subject="The wallet is low: {available_amount}",
        says=("The wallet has less than the amount that you have chosen. Payouts that it cannot cover are refused.",),
        shown=("available_amount", "limit_amount"),
        button="See the wallet",
    ),
    MessageKind.DAILY_SUMMARY: KindWords(
        title="A summary every morning",
        subject="{business}: payments of {day}",
        says=("What was completed and what failed on {day}.",),
        shown=(
            "collected",
            "collected_amount",
            "collections_failed",
            "paid_out",
            "paid_out_amount",
            "payouts_failed",
            "available_amount",
        ),
        button="See the transactions",
    ),
    MessageKind.PROPOSAL_WAITING: KindWords(
        title="An act waits for a second operator",
        subject="An act waits for a second operator",
        says=(
            "{by} has proposed an act that takes two operators. Log in to the operators' pages to see it and decide.",
        ),
        subject_of_many="{count} acts wait for a second operator",
        says_of_many=(
            "{count} acts wait for a second operator. Log in to the operators' pages to see and decide them.",
        ),
    ),
    MessageKind.STOPPED_ACCOUNT_IN_FILE: KindWords(
        title="A bank account was stopped, and money is on its way to it",
        subject="Stopped bank account of {merchant}: money is on its way to it",
        says=(
            "{by} has stopped a bank account of {merchant}, and there is money that we have sent to it. Perhaps "
            "somebody has added the account to steal it.",
            "Payout files with it cannot be downloaded any more. If nobody has handed one in, void it. If the bank has "
            "it, call the bank at once: it must not pay this transfer, or must call it back. Then call an owner of the "
            "business on a number that you have known for long.",
        ),
        shown=("merchant", "bank", "account", "holder", "sent_amount", "paid_amount", "files", "by", "happened_at"),
    ),
}

# Texts that are facts, such as a reason, and are translated too.
TRANSLATED = (GONE, FAILED_TOO_LONG)

GREETING = "Hello {name},"
PLAIN_GREETING = "Hello,"
WHY_CHOSEN = "You get this message because you have chosen it. Choose others in the settings, under Messages."
WHY_CHOSEN_OPERATOR = "You get this message because you have chosen it. Choose others under Account."
WHY_ALWAYS = "You always get this message, because it is about the safety of your account or of your business."
WHY_ALWAYS_MONEY = "You always get this message, because money may go to the wrong place."
WHY_ALWAYS_OPERATOR = "You always get this message, because it is about the safety of your account."

# What operators read instead: there is no owner of a business to turn to.
TO_OPERATORS = {
    _NOT_YOU: _NOT_YOU_OPERATOR,
    _NOT_ASKED: "If you have not asked for this, speak with the other operators at once.",
    WHY_ALWAYS: WHY_ALWAYS_OPERATOR,
    WHY_CHOSEN: WHY_CHOSEN_OPERATOR,
}

NO_ANSWER = "This message was sent automatically. We never ask for your password or for a code."
TEST_SUBJECT = "A test message"
TEST_SAYS = "If you can read this, the service can send e-mail to this address."


def sentences() -> Iterator[str]:
    """All texts that are translated."""
    for words in KIND_WORDS.values():
        yield from (words.title, words.subject, *words.says, words.button, words.subject_of_many, *words.says_of_many)
    yield from LABELS.values()
    yield from TRANSLATED
    yield from TO_OPERATORS.values()
    yield from (GREETING, PLAIN_GREETING, WHY_CHOSEN, WHY_ALWAYS, WHY_ALWAYS_MONEY, NO_ANSWER, TEST_SUBJECT, TEST_SAYS)
