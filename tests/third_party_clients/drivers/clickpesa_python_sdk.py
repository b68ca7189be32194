"""clickpesa-python-sdk 0.2.0. Its hosts are constants of `clickpesa.client`; that of production is set anew."""

from typing import Any

import clickpesa.client  # type: ignore[import-not-found]
from clickpesa import (
    AuthenticationError,
    ClickPesa,
    ClickPesaError,
    ConflictError,
    ForbiddenError,
    InsufficientFundsError,
    NotFoundError,
    ValidationError,
    WebhookValidator,
)

from tests.third_party_clients.drivers import wording

_STATUSES = {"SUCCESS": wording.PAID, "SETTLED": wording.PAID, "FAILED": wording.FAILED, "REFUNDED": wording.FAILED}
_ERRORS = (
    ((AuthenticationError, ForbiddenError), wording.NOT_LET_IN),
    (ConflictError, wording.DUPLICATE),
    (NotFoundError, wording.NOT_FOUND),
    ((InsufficientFundsError, ValidationError), wording.REFUSED),
)


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    clickpesa.client._PRODUCTION_URL = url + keys["basePath"].removesuffix("/third-parties")
    client = ClickPesa(keys["clientId"], keys["apiKey"], checksum_key=keys["checksumSecret"])

    def collect(phone: str, amount: int, reference: str) -> wording.Understood:
        return _asked(lambda: client.payments.initiate_ussd_push(str(amount), phone, reference))

    def disburse(phone: str, amount: int, reference: str) -> wording.Understood:
        return _asked(lambda: client.payouts.create_mobile_money(amount, phone, reference))

    def preview(amount: int, reference: str) -> wording.Understood:
        shown = client.payments.preview_ussd_push(str(amount), reference)
        return wording.ACCEPTED, [each["name"] for each in shown["activeMethods"]]

    def verify(body: Any) -> wording.Understood:
        answer = {name: value for name, value in body.items() if name != "checksum"}
        is_right = WebhookValidator.verify(answer, body["checksum"], keys["checksumSecret"])
        return wording.ACCEPTED if is_right else wording.REFUSED, body

    return {
        "collect": collect,
        "disburse": disburse,
        "query": lambda reference: _asked(lambda: client.payments.get_status(reference)[0]),
        "query_payout": lambda reference: _asked(lambda: client.payouts.get_status(reference)[0]),
        "preview": preview,
        "verify": verify,
    }


def _asked(ask: Any) -> wording.Understood:
    try:
        made = ask()
    except ClickPesaError as error:
        for kinds, word in _ERRORS:
            if isinstance(error, kinds):
                return word, f"{type(error).__name__}: {error}"
        return wording.UNKNOWN, f"{type(error).__name__}: {error}"
    return _STATUSES.get(made["status"], wording.ACCEPTED), made


wording.serve(_open)
