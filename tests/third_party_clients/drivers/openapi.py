"""M-Pesa's requests and replies, for libraries that take and hand over the network's own dictionaries."""

from typing import Any

from tests.third_party_clients.drivers import wording

_PAYMENTS = {"INS-0": wording.ACCEPTED, "INS-10": wording.DUPLICATE, "INS-989": wording.NOT_LET_IN}
_STATUSES = {"Completed": wording.PAID, "Pending": wording.PENDING}


def payment(keys: Any, *, phone: str, amount: object, reference: str, describes: str) -> dict[str, object]:
    return {
        "input_Amount": amount,
        "input_Country": "TZN",
        "input_Currency": "TZS",
        "input_CustomerMSISDN": phone,
        "input_ServiceProviderCode": keys["serviceProviderCode"],
        "input_ThirdPartyConversationID": reference,
        "input_TransactionReference": reference[:20],
        describes: "Python Book",
    }


def query(keys: Any, reference: str) -> dict[str, object]:
    return {
        "input_QueryReference": reference,
        "input_ServiceProviderCode": keys["serviceProviderCode"],
        "input_ThirdPartyConversationID": f"q{reference}",
        "input_Country": "TZN",
    }


def paid(body: Any) -> wording.Understood:
    if "output_error" in body:
        return wording.NOT_LET_IN, body
    return _PAYMENTS.get(body["output_ResponseCode"], wording.REFUSED), body


def found(body: Any) -> wording.Understood:
    if body["output_ResponseCode"] != "INS-0":
        return wording.NOT_FOUND if body["output_ResponseCode"] == "INS-23" else wording.REFUSED, body
    return _STATUSES.get(body["output_ResponseTransactionStatus"], wording.FAILED), body
