"""Which settings each network needs once it is connected. The start is refused when one of them is missing.

A network is connected when its address is set. One without a status query also needs its callback token and the list
of addresses that may send callbacks: without a query, unsigned callbacks end payments.
"""

from dataclasses import dataclass

from malipo.settings import Settings
from malipo.settings.environment import variable


@dataclass(frozen=True, kw_only=True)
class NetworkRequirements:
    address: str  # the setting that connects it
    needs: tuple[str, ...]
    # Settings any of which gives it a query; None if it always has one.
    query: tuple[str, ...] | None = None


REQUIREMENTS: dict[str, NetworkRequirements] = {
    "mpesa": NetworkRequirements(
        address="mpesa_base_url",
        needs=("mpesa_api_key", "mpesa_public_key", "mpesa_service_provider_code"),
    ),
    "airtel_money": NetworkRequirements(
        address="airtel_money_base_url",
        needs=("airtel_money_client_id", "airtel_money_client_secret", "airtel_money_pin", "airtel_money_public_key"),
    ),
    "tigo_pesa": NetworkRequirements(
        address="tigo_pesa_push_url",
        needs=(
            "tigo_pesa_token_url",
            "tigo_pesa_disbursement_url",
            "tigo_pesa_username",
            "tigo_pesa_password",
            "tigo_pesa_biller_msisdn",
            "tigo_pesa_account_msisdn",
            "tigo_pesa_pin",
        ),
        query=("tigo_pesa_query_url",),
    ),
    "halopesa": NetworkRequirements(
        address="halopesa_url",
        needs=("halopesa_username", "halopesa_password", "halopesa_secret_key", "halopesa_account"),
        query=(),
    ),
    "clickpesa": NetworkRequirements(
        address="clickpesa_base_url",
        needs=("clickpesa_client_id", "clickpesa_api_key"),
    ),
    "azampay": NetworkRequirements(
        address="azampay_base_url",
        needs=(
            "azampay_authenticator_url",
            "azampay_app_name",
            "azampay_client_id",
            "azampay_client_secret",
            "azampay_public_key",
            "azampay_source_account",
            "azampay_source_name",
        ),
        query=("azampay_query",),
    ),
}


def is_connected(settings: Settings, network: str) -> bool:
    return bool(getattr(settings, REQUIREMENTS[network].address))


def missing_settings(settings: Settings, network: str) -> list[str]:
    """One sentence for each setting that a connected network needs and does not have."""
    required = REQUIREMENTS[network]
    needed = list(required.needs)
    if required.query is not None and not any(getattr(settings, each) for each in required.query):
        needed += [f"{network}_callback_token", f"{network}_callback_networks"]
    return [
        f"{variable(each)} is needed and not set (see docs/settings.md)."
        for each in needed
        if not getattr(settings, each)
    ]
