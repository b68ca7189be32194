"""airtelmoney-py 1.0.6 for Airtel Money. It has an option for its base address."""

from typing import Any

from airtelmoney import AirtelMoney  # type: ignore[import-not-found]
from airtelmoney.errors import is_pending, is_success  # type: ignore[import-not-found]
from airtelmoney.exceptions import AirtelAPIError, AirtelAuthError  # type: ignore[import-not-found]

from tests.third_party_clients.drivers import wording

_STATUSES = {"TS": wording.PAID, "TIP": wording.PENDING, "TA": wording.PENDING}
# It names the codes, and tells people to ask after this one.
_DUPLICATES = ("DP00900001011", "DP00900001017")


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    airtel = AirtelMoney(
        keys["clientId"],
        keys["clientSecret"],
        base_url=url + keys["basePath"],
        country=keys["country"],
        currency=keys["currency"],
    )

    def collect(phone: str, amount: int, reference: str, *, sign: bool = True) -> wording.Understood:
        return _asked(
            lambda: airtel.collection.payment(
                reference="Order 99", msisdn=phone[3:], amount=amount, transaction_id=reference, sign=sign
            )
        )

    def disburse(phone: str, amount: int, reference: str) -> wording.Understood:
        return _asked(
            lambda: airtel.disbursement.payment(
                msisdn=phone[3:], amount=amount, reference="payout01", pin=keys["pin"], transaction_id=reference
            )
        )

    def verify(body: Any) -> wording.Understood:
        is_right = airtel.collection.verify_callback_hash(body, keys["callbackKey"])
        return wording.ACCEPTED if is_right else wording.REFUSED, body

    return {
        "collect": collect,
        "disburse": disburse,
        "query": lambda reference: _found(airtel.collection.enquiry(reference)),
        "query_payout": lambda reference: _found(airtel.disbursement.enquiry(reference)),
        "verify": verify,
    }


def _asked(ask: Any) -> wording.Understood:
    try:
        body = ask()
    except AirtelAuthError as error:
        return wording.NOT_LET_IN, str(error)
    except AirtelAPIError as error:
        if error.status_code is None:
            return wording.UNKNOWN, str(error)
        result = (error.payload or {}).get("status", {}).get("result_code")
        is_duplicate = error.response_code in _DUPLICATES or result == "ESB000041"
        return wording.DUPLICATE if is_duplicate else wording.REFUSED, str(error)
    code = body["status"]["response_code"]
    if is_success(code):
        return wording.PAID, body
    return wording.ACCEPTED if is_pending(code) else wording.FAILED, body


def _found(body: Any) -> wording.Understood:
    if "data" not in body:
        return wording.NOT_FOUND, body
    return _STATUSES.get(body["data"]["transaction"]["status"], wording.FAILED), body


wording.serve(_open)
