"""pyairtel 0.1.1 for Airtel Money. Its hosts are constants of `pyairtel.client`; that of the sandbox is set anew."""

from typing import Any

import pyairtel.client  # type: ignore[import-not-found]
from pyairtel.exceptions import (  # type: ignore[import-not-found]
    AuthenticationError,
    CollectionError,
    DisbursementError,
)

from tests.third_party_clients.drivers import wording


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    pyairtel.client._SANDBOX_URL = url + keys["basePath"]
    airtel = pyairtel.client.AirtelMoney(keys["clientId"], keys["clientSecret"], sandbox=True)
    pem = f"-----BEGIN PUBLIC KEY-----\n{keys['publicKey']}\n-----END PUBLIC KEY-----"

    def collect(phone: str, amount: int, reference: str) -> wording.Understood:
        try:
            reply = airtel.collect(phone, amount, "Order 99", transaction_id=reference)
        except AuthenticationError as error:
            return wording.NOT_LET_IN, str(error)
        except CollectionError as error:
            return wording.UNKNOWN if "Network error" in str(error) else wording.REFUSED, str(error)
        return wording.ACCEPTED if reply.is_initiated else wording.REFUSED, reply.raw

    def query(reference: str) -> wording.Understood:
        found = airtel.get_collection_status(reference)
        if found.is_successful:
            return wording.PAID, found.raw
        if found.is_pending:
            return wording.PENDING, found.raw
        return wording.FAILED if found.is_failed else wording.UNKNOWN, found.raw

    def disburse(phone: str, amount: int, reference: str) -> wording.Understood:
        try:
            reply = airtel.transfer(
                phone, amount, keys["pin"], pem, "Demo", "Shop", "payout01", transaction_id=reference
            )
        except DisbursementError as error:
            return wording.REFUSED, str(error)
        return wording.PAID if reply.is_successful else wording.FAILED, reply.raw

    return {"collect": collect, "query": query, "disburse": disburse}


wording.serve(_open)
