"""pypesa 0.0.3 for M-Pesa. Its context has address, port and ssl; paths are arguments, but for that of the session."""

from typing import Any
from urllib.parse import urlsplit

from pypesa.vodacom import MPESA  # type: ignore[import-not-found]

from tests.third_party_clients.drivers import openapi, wording


class _Redirected(MPESA):  # type: ignore[misc]
    """With the one path that its payments do not let through."""

    base = ""

    def get_session_id(self, path: str = "") -> Any:
        return super().get_session_id(path or f"{self.base}/getSession/")


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    at, base = urlsplit(url), keys["basePath"]
    mpesa = _Redirected(keys["apiKey"], keys["publicKey"], ssl=False)
    mpesa.base = base
    mpesa.context.update({"address": at.hostname, "port": at.port, "parameters": {}})

    def collect(phone: str, amount: object, reference: str) -> wording.Understood:
        given = openapi.payment(
            keys, phone=phone, amount=amount, reference=reference, describes="input_PurchasedItemsDesc"
        )
        try:
            return openapi.paid(mpesa.customer2business(given, f"{base}/c2bPayment/singleStage/").body)
        except Exception as error:
            # It has no exception of its own: whatever keeps it from an answer is called this.
            if str(error).startswith("API call failed to get result"):
                return wording.UNKNOWN, str(error)
            raise

    def disburse(phone: str, amount: object, reference: str) -> wording.Understood:
        given = openapi.payment(
            keys, phone=phone, amount=amount, reference=reference, describes="input_PaymentItemsDesc"
        )
        return openapi.paid(mpesa.business2customer(given, f"{base}/b2cPayment/").body)

    def query(reference: str) -> wording.Understood:
        return openapi.found(mpesa.status(openapi.query(keys, reference), f"{base}/queryTransactionStatus/").body)

    def collect_twice(**fields: Any) -> wording.Understood:
        collect(**fields)
        return collect(**{**fields, "reference": fields["reference"] + "b"})

    ways: dict[str, wording.Doing] = {"collect": collect, "disburse": disburse, "query": query, "query_payout": query}
    return {**ways, "collect_twice": collect_twice}


wording.serve(_open)
