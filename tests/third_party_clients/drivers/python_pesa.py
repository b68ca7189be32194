"""python-pesa 0.7 for M-Pesa. Its addresses are attributes of `urls`; its header Host stays the operator's."""

from typing import Any

import pypesa  # type: ignore[import-not-found]
from pypesa.mpesa_exceptions import MpesaConnectionError  # type: ignore[import-not-found]

from tests.third_party_clients.drivers import openapi, wording


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    mpesa = pypesa()
    mpesa.api_key, mpesa.public_key = keys["apiKey"], keys["publicKey"]
    for name, path in (
        ("session_id", "getSession"),
        ("single_stage_c2b", "c2bPayment/singleStage"),
        ("single_stage_b2c", "b2cPayment"),
        ("transaction_status", "queryTransactionStatus"),
    ):
        setattr(mpesa.urls, name, f"{url}{keys['basePath']}/{path}/")

    def collect(phone: str, amount: object, reference: str) -> wording.Understood:
        given = openapi.payment(
            keys, phone=phone, amount=amount, reference=reference, describes="input_PurchasedItemsDesc"
        )
        try:
            return openapi.paid(mpesa.customer_to_bussiness(given))
        except MpesaConnectionError as error:
            return wording.UNKNOWN, str(error)

    def disburse(phone: str, amount: object, reference: str) -> wording.Understood:
        given = openapi.payment(
            keys, phone=phone, amount=amount, reference=reference, describes="input_PaymentItemsDesc"
        )
        return openapi.paid(mpesa.bussiness_to_customer(given))

    def query(reference: str) -> wording.Understood:
        return openapi.found(mpesa.query_transaction_status(openapi.query(keys, reference)))

    return {"collect": collect, "disburse": disburse, "query": query, "query_payout": query}


wording.serve(_open)
