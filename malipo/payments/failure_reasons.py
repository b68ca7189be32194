"""The sentences that merchants read as `failureReason`, one for each `failureCode`. Pure.

They are the same for every network. A payment keeps the English sentence with which it ended, and its events have that
sentence. A request for a payment can ask for Kiswahili.
"""

from malipo.http.accept_language import Language
from malipo.networks.connector import Answer, FailureCode, FailureDetail

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

# For payments of which the network says more than the code.
DETAILED_REASONS = {
    FailureDetail.NOT_REGISTERED: "This number has no account at the network.",
    FailureDetail.BARRED: "This number's account is barred by its network.",
    FailureDetail.FLOAT_TOO_LOW: "The account of this service at the network holds too little. Nothing was paid.",
}

# A test compares these sentences with the catalogue of the pages.
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
DETAILED_IN_KISWAHILI = {
    FailureDetail.NOT_REGISTERED: "Namba hii haina akaunti kwenye mtandao.",
    FailureDetail.BARRED: "Akaunti ya namba hii imefungiwa na mtandao wake.",
    FailureDetail.FLOAT_TOO_LOW: "Akaunti ya huduma hii kwenye mtandao haina salio la kutosha. Hakuna kilicholipwa.",
}


def detail_of(code: FailureCode, answer: Answer) -> FailureDetail | None:
    """The detail in the answer that ended a payment, beyond its code."""
    if code is FailureCode.CHANNEL_UNAVAILABLE:
        # If the network answered, our float there is too low. A payout that was not sent has no answer.
        return FailureDetail.FLOAT_TOO_LOW
    return answer.failure_detail if code is answer.failure_code else None


def failure_reason_of(code: FailureCode, detail: FailureDetail | None = None) -> str:
    return FAILURE_REASONS[code] if detail is None else DETAILED_REASONS[detail]


def in_language(language: Language, code: str | None, detail: str | None, reason: str | None) -> str | None:
    """The reason in this language. If the code has no sentence here, the stored reason."""
    if language is Language.ENGLISH or code is None or code not in FailureCode.__members__.values():
        return reason
    if detail is not None and detail in FailureDetail.__members__.values():
        return DETAILED_IN_KISWAHILI[FailureDetail(detail)]
    return IN_KISWAHILI[FailureCode(code)]
