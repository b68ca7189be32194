"""Why an operator should look at a payment, as sentences: by the code of `payments/cases/case_reason.py`."""

SENTENCES = {
    "not_found": "The network does not know it, and it must not be sent again.",
    "forgotten": "The network had it, and now does not know it.",
    "differs": "The network speaks of another amount or phone.",
    "unsent": "The network spoke of it before it was sent.",
    "unheard": "Its answer was not heard, and the network cannot be asked.",
    "restored": "It may have been sent before the database was restored, and the network cannot say.",
    "resembles_adopted": "It may be the repeat of a payment that was lost and is paid. Ask the merchant.",
    "excess_refund": "A refund that was sent, and may have been paid. Meanwhile the payment was refunded otherwise, or "
    "taken back, so it is not sent again.",
    "retry_not_sent": "It pays a failed payout again. It was sent, and may have been paid. It is not sent again: the "
    "failed payout was paid after all, or the network does not find this one.",
    "said_paid": "Somebody said that it was paid, and the network does not confirm it when asked.",
    "disputed": "The network's signed message and its answer contradict each other.",
    "closed_merchant": "Its merchant is closed, so nobody sends it. It can be cancelled.",
    "not_connected": "No network is connected that could take it, so nobody sends it. It can be cancelled, and fails "
    "by itself.",
    "now_unpaid": "The network said that it was paid, and now that it was not.",
    "now_paid": "The network said that it was not paid, and now that it was.",
    "doubted": "An operator has proposed how it ended. Another one must approve or reject it.",
    "late": "It takes too long.",
    "none": "Nothing is in question.",
}
