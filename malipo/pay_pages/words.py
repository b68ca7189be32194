"""The sentences of pay pages about refusals and failed payments, by code. English here; Kiswahili in the catalogue."""

from malipo.dashboard.language import Translator
from malipo.errors import Refusal
from malipo.links.link import Late, Link, LinkStatus
from malipo.networks.connector import FailureCode
from malipo.payments.transaction import Status, Transaction
from malipo.validation.fields import Fields

# A person with the link can type any number, so the page does not reveal whether a number has an account, or a barred
# one.
_REFUSED = "{network} refused the payment. Nothing was charged. Are the number and its network right?"
# Why it was not paid. Each says whether money moved, and what to do.
FAILED_SENTENCES = {
    FailureCode.DECLINED: "The payment was declined on the phone. Nothing was charged.",
    FailureCode.EXPIRED: "No PIN was typed in time. Nothing was charged.",
    FailureCode.INSUFFICIENT_FUNDS: "There was not enough money in the account. Nothing was charged. Put money in, or "
    "use another number.",
    FailureCode.INVALID_RECIPIENT: _REFUSED,
    FailureCode.LIMIT_EXCEEDED: "The amount is beyond what {network} allows this account. Nothing was charged.",
    FailureCode.NOT_RECEIVED: "{network} did not get the request. Nothing was charged.",
    FailureCode.CHANNEL_UNAVAILABLE: "{network} did not answer in time. Nothing was charged. Try again later, or with "
    "another network.",
    FailureCode.REJECTED: _REFUSED,
}
CANCELLED_SENTENCE = "It was stopped before the phone was asked. Nothing was charged."

# Why money came too late for the link; None: the payment had counted as failed.
LATE_SENTENCES = {
    Late.ALREADY_PAID: "This was paid twice: somebody had paid it already. {name} knows of it, and can give this "
    "payment back.",
    Late.EXPIRED: "It was paid late: the time of the link was over. {name} knows of it, and can give the payment back.",
    Late.CANCELLED: "It was paid late: {name} had withdrawn the link. {name} knows of it, and can give the payment "
    "back.",
    None: "It was paid late: the payment had counted as failed. {name} knows of it.",
}

# Why a link cannot be paid.
CLOSED_SENTENCES = {
    LinkStatus.PAID: "It was paid already.",
    LinkStatus.EXPIRED: "Its time is over. Ask {name} for a new link.",
    LinkStatus.CANCELLED: "{name} has withdrawn it. Ask for a new link.",
    "link_full": "It was paid as many times as it can be.",
    "merchant_inactive": "{name} takes no payments at the moment.",
}

# Why a press is refused, by code.
REFUSED_SENTENCES = {
    # These three are read by who has typed the number that is asked and by who has typed another one: each has to be
    # true for both, and the page never reveals which it is.
    "link_busy": "A payment of this link is under way. If it is yours, look at your phone. If not, wait until it has "
    "ended.",
    "link_busy_for": "A payment of this link is under way. If it is yours, look at your phone. If not, wait until it "
    "has ended: about {seconds} seconds.",
    "second_number_doubt": "A number was asked before, and it is not known yet whether it has paid. Look for an SMS on "
    "that phone first: if it has paid, do not pay again.",
    "too_many_prompts": "This number cannot be asked at the moment. To protect people from questions that they do not "
    "want, a number is asked only a few times, and only once at a time. This press charged nothing. Look at that "
    "phone: if it asks for the PIN, or has an SMS that it has paid, do not press again. If not, try again in an hour, "
    "or ask {name} for another way to pay.",
    "restored": "Payments are not taken at the moment. Nothing was charged. Try again later.",
    "on_hold": "Payments are not taken at the moment. Nothing was charged. Try again later.",
    "outcome_unknown": "We do not know whether your phone is asked now. Look at it first. Pressing once more with the "
    "same number asks it once only.",
}
NOT_NOW = "We cannot do this at the moment. Nothing was charged. Try again in a minute."

FIELD_SENTENCES = {
    "field_required": "Please fill this in.",
    "amount_invalid": "Type a whole number of shillings, such as 25,000.",
    "amount_too_small": "The least is TZS {least}.",
    "amount_too_large": "The most is TZS {most}.",
    "phone_invalid": "This is not a Tanzanian mobile number. Type it like 0754 000 100.",
    "channel_invalid": "Choose the network of this number.",
    "channel_not_offered": "The network of this number is not taken here. Use a number of another network.",
}
_GENERAL = "This is not right."
_BEYOND_NETWORK = "{network} takes at most TZS {most} in one payment. Use a number of another network, or ask {name}."

SENTENCES = (
    FAILED_SENTENCES,
    CANCELLED_SENTENCE,
    LATE_SENTENCES,
    CLOSED_SENTENCES,
    REFUSED_SENTENCES,
    NOT_NOW,
    FIELD_SENTENCES,
    _GENERAL,
    _BEYOND_NETWORK,
)


def why_not_paid(words: Translator, attempt: Transaction, network: str) -> str:
    if attempt.status is Status.CANCELLED:
        return words(CANCELLED_SENTENCE)
    code = attempt.failure_code or ""
    failure_code = FailureCode(code) if code in FailureCode.__members__.values() else FailureCode.REJECTED
    return words(FAILED_SENTENCES[failure_code], network=network)


def why_late(words: Translator, late: Late | None, name: str) -> str:
    return words(LATE_SENTENCES[late], name=name)


def why_closed(words: Translator, link: Link, name: str, *, code: str | None = None) -> str:
    """Why the link cannot be paid. `code` is that of a refused press, which is more exact than the status."""
    sentence = CLOSED_SENTENCES.get(code or "") or CLOSED_SENTENCES.get(link.status, "")
    return words(sentence, name=name) if sentence else words(NOT_NOW)


def refusal(words: Translator, refused: Refusal, name: str) -> str:
    values = {"name": name, **refused.values}
    code = "link_busy_for" if refused.code == "link_busy" and values.get("seconds") else refused.code
    return words(REFUSED_SENTENCES.get(code, _GENERAL), **values)


def mistakes(words: Translator, fields: Fields) -> dict[str, str]:
    """One sentence for each wrong field."""
    sentences: dict[str, str] = {}
    for each in fields.mistakes:
        shown = {name: f"{value:,}" for name, value in each.bounds.items()}
        # If no network is chosen, the number decides it.
        code = "channel_invalid" if each.code == "field_required" and each.field == "channel" else each.code
        sentences.setdefault(each.field, words(FIELD_SENTENCES.get(code, _GENERAL), **shown))
    return sentences


def beyond_network(words: Translator, network: str, most: int, *, name: str) -> str:
    """The mistake of an amount that the link allows and the network does not."""
    return words(_BEYOND_NETWORK, network=network, most=f"{most:,}", name=name)
