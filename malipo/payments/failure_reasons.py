"""The sentences that merchants read as `failureReason`, one for each `failureCode`. Pure.

They are the same for every network. A payment keeps the English sentence that it ended with, and events have that one;
whoever reads a payment can have it in Kiswahili.
"""

from malipo.http.accept_language import Language
from malipo.networks.connector import FailureCode

FAILURE_REASONS = {
    FailureCode.DECLINED: "The customer declined the payment.",
    FailureCode.EXPIRED: "The customer did not answer in time.",
    FailureCode.INSUFFICIENT_FUNDS: "The customer's balance is too low.",
    FailureCode.INVALID_RECIPIENT: "This number cannot take part in this payment.",
    FailureCode.LIMIT_EXCEEDED: "The amount is outside of a limit of the network.",
    FailureCode.NOT_RECEIVED: "The network did not receive the request.",
    FailureCode.CHANNEL_UNAVAILABLE: "The network could not take it in time. Nothing was charged or paid.",
    FailureCode.REJECTED: "The network refused the payment.",
}

# The pages say the same: a test compares them with their catalogue.
IN_KISWAHILI = {
    FailureCode.DECLINED: "Mteja amekataa malipo.",
    FailureCode.EXPIRED: "Mteja hakujibu kwa wakati.",
    FailureCode.INSUFFICIENT_FUNDS: "Salio la mteja halitoshi.",
    FailureCode.INVALID_RECIPIENT: "Namba hii haiwezi kushiriki katika malipo haya.",
    FailureCode.LIMIT_EXCEEDED: "Kiasi kiko nje ya kikomo cha mtandao.",
    FailureCode.NOT_RECEIVED: "Mtandao haukupokea ombi.",
    FailureCode.CHANNEL_UNAVAILABLE: "Mtandao haukuweza kuipokea kwa wakati. Hakuna kilichokatwa wala kulipwa.",
    FailureCode.REJECTED: "Mtandao umekataa malipo.",
}


def failure_reason_of(code: FailureCode) -> str:
    return FAILURE_REASONS[code]


def in_language(language: Language, code: str | None, reason: str | None) -> str | None:
    """A payment's reason. One whose code has no sentence here stays as it is."""
    if language is Language.ENGLISH or code is None or code not in FailureCode.__members__.values():
        return reason
    return IN_KISWAHILI[FailureCode(code)]
