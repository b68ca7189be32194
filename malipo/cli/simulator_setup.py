"""Connects the simulated networks: credentials from the simulator's portal, callbacks registered there.

It speaks to the simulator over HTTP alone. Only the demo and the tests do.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import msgspec

from malipo import randomness
from malipo.clock import loop_time
from malipo.errors import Impossible
from malipo.settings import Settings
from malipo.settings.environment import variable

_READY_SECONDS = 15.0

# Where the simulator's callbacks come from.
_THIS_MACHINE = "127.0.0.0/8,::1/128"

# Each setting of a network, with its name in the portal. A path is below the simulator's address.
_SETTINGS: dict[str, dict[str, str]] = {
    "MPESA": {
        "mpesa_base_url": "basePath",
        "mpesa_api_key": "apiKey",
        "mpesa_public_key": "publicKey",
        "mpesa_service_provider_code": "serviceProviderCode",
        "mpesa_origin": "origin",
    },
    "AIRTEL_MONEY": {
        "airtel_money_base_url": "basePath",
        "airtel_money_client_id": "clientId",
        "airtel_money_client_secret": "clientSecret",
        "airtel_money_pin": "pin",
        "airtel_money_public_key": "publicKey",
        "airtel_money_callback_key": "callbackKey",
        "airtel_money_msisdn": "msisdn",
    },
    "TIGO_PESA": {
        "tigo_pesa_push_url": "pushPath",
        "tigo_pesa_token_url": "tokenPath",
        "tigo_pesa_query_url": "queryPath",
        "tigo_pesa_disbursement_url": "cashInPath",
        "tigo_pesa_username": "username",
        "tigo_pesa_password": "password",
        "tigo_pesa_biller_msisdn": "billerMsisdn",
        "tigo_pesa_biller_code": "billerCode",
        "tigo_pesa_account_msisdn": "accountMsisdn",
        "tigo_pesa_pin": "pin",
        "tigo_pesa_brand_id": "brandId",
        "tigo_pesa_sender_name": "senderName",
    },
    "HALOPESA": {
        "halopesa_url": "servicePath",
        "halopesa_username": "username",
        "halopesa_password": "password",
        "halopesa_secret_key": "secretKey",
        "halopesa_account": "beneficiaryAccountId",
        "halopesa_business_number": "businessNo",
        "halopesa_failed_codes": "failedCodes",
    },
    "CLICKPESA": {
        "clickpesa_base_url": "basePath",
        "clickpesa_client_id": "clientId",
        "clickpesa_api_key": "apiKey",
        "clickpesa_checksum_key": "checksumSecret",
    },
    "AZAMPAY": {
        "azampay_base_url": "disbursementPath",
        "azampay_authenticator_url": "authenticatorPath",
        "azampay_app_name": "appName",
        "azampay_client_id": "clientId",
        "azampay_client_secret": "clientSecret",
        "azampay_public_key": "publicKey",
        "azampay_source_account": "sourceAccount",
        "azampay_source_name": "sourceName",
    },
}


class NoSimulator(Impossible):
    """It did not start."""


async def credentials(simulator_url: str, *, has_ended: Callable[[], bool] | None = None) -> dict[str, dict[str, str]]:
    """The credentials that the simulator's portal gives us, as soon as it answers.

    The caller that started the simulator says whether it has ended, so that a slow start on a busy machine is waited
    for.
    """
    deadline = loop_time() + _READY_SECONDS
    async with aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"{simulator_url}/api/credentials") as answer:
                    return msgspec.json.decode(await answer.read(), type=dict[str, dict[str, str]])
            except (aiohttp.ClientError, msgspec.MsgspecError) as error:
                if loop_time() > deadline if has_ended is None else has_ended():
                    raise NoSimulator(f"The simulator at {simulator_url} does not answer: {error}") from None
                await asyncio.sleep(0.05)


def environment(simulator_url: str, portal: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The settings that connect every simulated network, as variables."""
    found: dict[str, str] = {}
    for channel, names in _SETTINGS.items():
        from_portal = portal[channel]
        for name, their_name in names.items():
            value = from_portal[their_name]
            found[variable(name)] = simulator_url + value if their_name.endswith("Path") else value
        found[variable(f"{channel.lower()}_callback_token")] = randomness.token_urlsafe(24)
        found[variable(f"{channel.lower()}_callback_networks")] = _THIS_MACHINE
    return found


async def register_callbacks(simulator_url: str, base_url: str, settings: Settings) -> None:
    """Register the callback address at each network."""
    urls: dict[str, Any] = {
        channel: f"{base_url}/callbacks/{channel.lower()}/{getattr(settings, f'{channel.lower()}_callback_token')}"
        for channel in _SETTINGS
    }
    async with aiohttp.ClientSession() as http, http.put(f"{simulator_url}/api/callbacks", json=urls) as answer:
        answer.raise_for_status()
