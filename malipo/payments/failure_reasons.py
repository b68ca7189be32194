"""The sentences that merchants read as `failureReason`, one for each `failureCode`. Pure.

They are the same for every network.
"""

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


def failure_reason_of(code: FailureCode) -> str:
    return FAILURE_REASONS[code]
