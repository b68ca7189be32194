"""clickpesa 1.0.0. It has an option for its base address. Checksums are left to its user, so the merchant has none."""

from typing import Any

import requests  # type: ignore[import-not-found, import-untyped, unused-ignore]
from clickpesa import (  # type: ignore[import-not-found]
    ClickPesaAuthError,
    ClickPesaClient,
    ClickPesaNotFoundError,
    ClickPesaValidationError,
    Currency,
)

from tests.third_party_clients.drivers import wording

_STATUSES = {"SUCCESS": wording.PAID, "SETTLED": wording.PAID, "FAILED": wording.FAILED}


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    client = ClickPesaClient(keys["clientId"], keys["apiKey"], base_url=url + keys["basePath"])

    def collect(phone: str, amount: int, reference: str) -> wording.Understood:
        try:
            made = client.initiate_ussd_push(str(amount), Currency.TZS, reference, phone)
        except ClickPesaAuthError as error:
            return wording.NOT_LET_IN, f"{error.status_code} {error}"
        except ClickPesaValidationError as error:
            return wording.DUPLICATE if error.status_code == 409 else wording.REFUSED, str(error)
        except requests.ConnectionError as error:
            return wording.UNKNOWN, str(error)
        return wording.ACCEPTED if made["status"] == "PROCESSING" else wording.FAILED, made

    def query(reference: str) -> wording.Understood:
        try:
            found = client.query_payment_status(reference)
        except ClickPesaNotFoundError as error:
            return wording.NOT_FOUND, str(error)
        return _STATUSES.get(found[0]["status"], wording.PENDING), found

    def is_completed(reference: str) -> wording.Understood:
        return wording.PAID if client.check_payment_completed(reference) else wording.PENDING, None

    def preview(amount: int, reference: str) -> wording.Understood:
        methods = client.get_payment_methods(str(amount), Currency.TZS, reference)
        return wording.ACCEPTED, [each["name"] for each in methods]

    return {"collect": collect, "query": query, "is_completed": is_completed, "preview": preview}


wording.serve(_open)
