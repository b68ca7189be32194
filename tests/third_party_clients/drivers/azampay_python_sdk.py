"""azampay-python-sdk 1.0.0. Its hosts are constants; those of production are set anew in the client."""

from typing import Any

from azampay import (  # type: ignore[import-not-found]
    AuthenticationError,
    AzamPay,
    AzamPayError,
    ForbiddenError,
    NotFoundError,
    SecurityManager,
    ValidationError,
)

from tests.third_party_clients.drivers import wording

_STATUSES = {"success": wording.PAID, "failure": wording.FAILED, "pending": wording.PENDING}
_LOCKED = 423  # what it has no class for


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    pem = f"-----BEGIN PUBLIC KEY-----\n{keys['publicKey']}\n-----END PUBLIC KEY-----"
    client = AzamPay(keys["appName"], keys["clientId"], keys["clientSecret"], rsa_public_key=pem)
    client._auth_url = url + keys["authenticatorPath"]
    client.disburse_url = url + keys["disbursementPath"]
    source = {
        "countryCode": "TZ",
        "fullName": keys["sourceName"],
        "bankName": "Azampesa",
        "accountNumber": keys["sourceAccount"],
        "currency": "TZS",
    }

    def disburse(phone: str, amount: int, reference: str) -> wording.Understood:
        pay = client.disbursement.disburse_mobile
        return _asked(lambda: pay("Asha Mushi", phone, "Halotel", str(amount), reference, source))

    def query(network_id: str) -> wording.Understood:
        return _asked(lambda: client.lookup.transaction_status(pg_reference_id=network_id, bank_name="Halotel"))

    return {
        "disburse": disburse,
        "query_by_id": query,
        "look_up": lambda phone: _asked(lambda: client.lookup.name_lookup("Halotel", phone)),
        "checksum": lambda text: (wording.ACCEPTED, SecurityManager.create_rsa_checksum(pem, text)),
    }


def _asked(ask: Any) -> wording.Understood:
    try:
        made = ask()
    except AzamPayError as error:
        shown = f"{type(error).__name__} {error.status_code}: {error}"
        if isinstance(error, AuthenticationError) or error.status_code == _LOCKED:
            return wording.NOT_LET_IN, shown
        if isinstance(error, ForbiddenError):
            return wording.DUPLICATE, shown
        if isinstance(error, NotFoundError):
            return wording.NOT_FOUND, shown
        return (wording.REFUSED if isinstance(error, ValidationError) else wording.UNKNOWN), shown
    status = made.get("status")
    return _STATUSES.get(status, wording.ACCEPTED) if isinstance(status, str) else wording.ACCEPTED, made


wording.serve(_open)
