"""What the networks' contracts and portals give to an operator, and what differs from one application to another.

Nothing of this was published for certain, so nothing of it is a constant in the connectors. A network is connected
when its address is set; `requirements` of its connector says what else it then needs.
"""

import re
from dataclasses import dataclass

from malipo.settings import parsers as parse
from malipo.settings.parsers import Network, setting

_ANYTHING = parse.matching(r"[!-~]{1,4096}", "printable characters without spaces")
_PUBLIC_KEY = parse.matching(r"[A-Za-z0-9+/=]{100,2000}", "the base64 text of a public key, without line breaks")
_PATH = parse.matching(r"[A-Za-z0-9._~/{}-]{1,200}", "a path")
_COUNTRY = parse.matching(r"[A-Z]{2,3}", "two or three capital letters")
_CALLBACK_TOKEN = parse.drawn_secret(r"[A-Za-z0-9_-]{16,200}", "at least 16 letters, digits, - or _", byte_count=20)
_TIMEOUT = parse.whole(30, 600)
_CONCURRENCY = parse.whole(1, 10_000)


@dataclass(frozen=True, kw_only=True)
class MpesaSettings:
    mpesa_base_url: str | None = setting(None, parse.base_url, is_shown=False)
    mpesa_api_key: str | None = setting(None, _ANYTHING, secret=True)
    mpesa_public_key: str | None = setting(None, _PUBLIC_KEY)
    mpesa_service_provider_code: str | None = setting(
        None, parse.matching(r"[A-Za-z0-9]{4,12}", "4 to 12 letters or digits")
    )
    mpesa_origin: str = setting("*", _ANYTHING)
    mpesa_country: str = setting("TZN", _COUNTRY)
    mpesa_currency: str = setting("TZS", _COUNTRY)
    mpesa_session_path: str = setting("getSession/", _PATH)
    mpesa_collection_path: str = setting("c2bPayment/singleStage/", _PATH)
    mpesa_disbursement_path: str = setting("b2cPayment/", _PATH)
    mpesa_query_path: str = setting("queryTransactionStatus/", _PATH)
    mpesa_session_seconds: int = setting(600, parse.whole(1, 86_400))
    mpesa_timeout_seconds: int = setting(150, _TIMEOUT)
    mpesa_concurrency: int = setting(64, _CONCURRENCY)
    mpesa_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    mpesa_callback_networks: tuple[Network, ...] = setting((), parse.networks)


@dataclass(frozen=True, kw_only=True)
class AirtelMoneySettings:
    airtel_money_base_url: str | None = setting(None, parse.base_url, is_shown=False)
    airtel_money_client_id: str | None = setting(None, _ANYTHING)
    airtel_money_client_secret: str | None = setting(None, _ANYTHING, secret=True)
    airtel_money_pin: str | None = setting(None, parse.matching(r"[0-9]{4,8}", "4 to 8 digits"), secret=True)
    airtel_money_public_key: str | None = setting(None, _PUBLIC_KEY)
    airtel_money_pin_padding: str = setting("pkcs1v15", parse.one_of("pkcs1v15", "oaep"))
    airtel_money_country: str = setting("TZ", _COUNTRY)
    airtel_money_currency: str = setting("TZS", _COUNTRY)
    airtel_money_token_path: str = setting("auth/oauth2/token", _PATH)
    airtel_money_collection_path: str = setting("merchant/v1/payments/", _PATH)
    airtel_money_collection_query_path: str = setting("standard/v1/payments/", _PATH)
    airtel_money_disbursement_version: str = setting("v1", parse.one_of("v1", "v2"))
    airtel_money_disbursement_path: str = setting("standard/{version}/disbursements/", _PATH)
    airtel_money_user_path: str = setting("standard/v1/users/", _PATH)
    airtel_money_balance_path: str = setting("standard/v1/users/balance", _PATH)
    airtel_money_disbursement_query_path: str = setting("standard/{version}/disbursements/", _PATH)
    airtel_money_summary_path: str = setting("merchant/v1/transactions", _PATH)
    airtel_money_msisdn: str | None = setting(
        None, parse.matching(r"(255)?[67][0-9]{8}", "a number such as 255684000000")
    )
    airtel_money_signing: bool = setting(False, parse.boolean)
    airtel_money_timeout_seconds: int = setting(60, _TIMEOUT)
    airtel_money_concurrency: int = setting(64, _CONCURRENCY)
    airtel_money_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    airtel_money_callback_key: str | None = setting(None, _ANYTHING, secret=True)
    airtel_money_callback_hash: str = setting("either", parse.one_of("either", "wrapped", "object"))
    airtel_money_callback_networks: tuple[Network, ...] = setting((), parse.networks)


_MSISDN = parse.matching(r"255[67][0-9]{8}", "a number such as 255652000000")
_CODE = parse.matching(r"[A-Za-z0-9._ -]{1,40}", "1 to 40 letters, digits, dots, dashes or spaces")


def _codes(value: str) -> tuple[str, ...]:
    """Codes that say "no such payment". A zero never does: it is how a network says that all is well."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not all(re.fullmatch(r"[A-Za-z0-9._-]{1,40}", part) and part.strip("0") for part in parts):
        raise ValueError("must be codes other than 0 with commas between them, such as GetSOError010")
    return tuple(part.lstrip("0") for part in parts)


@dataclass(frozen=True, kw_only=True)
class TigoPesaSettings:
    tigo_pesa_push_url: str | None = setting(None, parse.base_url, is_shown=False)
    tigo_pesa_token_url: str | None = setting(None, parse.base_url, is_shown=False)
    tigo_pesa_query_url: str | None = setting(None, parse.base_url, is_shown=False)
    tigo_pesa_disbursement_url: str | None = setting(None, parse.base_url, is_shown=False)
    tigo_pesa_username: str | None = setting(None, _ANYTHING)
    tigo_pesa_password: str | None = setting(None, _ANYTHING, secret=True)
    tigo_pesa_biller_msisdn: str | None = setting(None, _MSISDN)
    tigo_pesa_biller_code: str = setting("", parse.matching(r"[A-Za-z0-9]{0,4}", "at most 4 letters or digits"))
    tigo_pesa_account_msisdn: str | None = setting(None, _MSISDN)
    tigo_pesa_pin: str | None = setting(None, parse.matching(r"[0-9]{4,8}", "4 to 8 digits"), secret=True)
    tigo_pesa_disbursement_type: str = setting("REQMFICI", _CODE)
    tigo_pesa_language: str = setting("en", parse.matching(r"[A-Za-z]{2}", "two letters"))
    tigo_pesa_sender_name: str | None = setting(None, _CODE)
    tigo_pesa_brand_id: str | None = setting(None, _CODE)
    tigo_pesa_acknowledgement: str = setting("BILLER-30-0000-S", _CODE)
    tigo_pesa_not_found_codes: tuple[str, ...] = setting((), _codes)
    tigo_pesa_timeout_seconds: int = setting(60, _TIMEOUT)
    tigo_pesa_concurrency: int = setting(64, _CONCURRENCY)
    tigo_pesa_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    tigo_pesa_callback_networks: tuple[Network, ...] = setting((), parse.networks)


@dataclass(frozen=True, kw_only=True)
class HalopesaSettings:
    halopesa_url: str | None = setting(None, parse.base_url, is_shown=False)
    halopesa_username: str | None = setting(None, _ANYTHING)
    halopesa_password: str | None = setting(None, _ANYTHING, secret=True)
    halopesa_secret_key: str | None = setting(None, _ANYTHING, secret=True)
    halopesa_account: str | None = setting(None, _CODE)
    halopesa_business_number: str | None = setting(None, _CODE)
    halopesa_function_code: str = setting("ASYNC_PAYMENT_USSD_PUSH", parse.matching(r"[A-Z_]{1,60}", "capital letters"))
    halopesa_failed_codes: tuple[str, ...] = setting((), _codes)
    halopesa_timeout_seconds: int = setting(60, _TIMEOUT)
    halopesa_concurrency: int = setting(64, _CONCURRENCY)
    halopesa_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    halopesa_callback_networks: tuple[Network, ...] = setting((), parse.networks)
    # A callback without signature, query and amount is the weakest proof that credits by itself: it counts for a tenth
    # of what one operator may book alone.
    halopesa_review_amount: int = setting(100_000, parse.whole(0, 10**15))


@dataclass(frozen=True, kw_only=True)
class ClickpesaSettings:
    clickpesa_base_url: str | None = setting(None, parse.base_url, is_shown=False)
    clickpesa_client_id: str | None = setting(None, _ANYTHING)
    clickpesa_api_key: str | None = setting(None, _ANYTHING, secret=True)
    clickpesa_checksum_key: str | None = setting(None, _ANYTHING, secret=True)
    clickpesa_checksum: str = setting("canonical", parse.one_of("canonical", "concatenated"))
    clickpesa_timeout_seconds: int = setting(60, _TIMEOUT)
    clickpesa_concurrency: int = setting(16, _CONCURRENCY)
    clickpesa_lookups_per_minute: int = setting(60, parse.whole(0, 10_000))
    clickpesa_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    clickpesa_callback_networks: tuple[Network, ...] = setting((), parse.networks)


# What AzamPay's checksum may be taken over, by the names of the fields.
_CHECKSUM_FIELDS = (
    *("source.accountNumber", "source.bankName", "source.currency"),
    *("destination.accountNumber", "destination.bankName", "destination.currency"),
    *("transferDetails.amount", "transferDetails.dateInEpoch", "externalReferenceId"),
)
_PLAIN_TEXT = parse.matching(r"[A-Za-z0-9&'.,_/() -]{1,100}", "1 to 100 letters, digits, spaces or common punctuation")


def _checksum_fields(value: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in value.split(","))
    if len(set(parts)) != len(parts) or not set(parts) <= set(_CHECKSUM_FIELDS):
        raise ValueError(f"must be fields with commas between them, each once, of {', '.join(_CHECKSUM_FIELDS)}")
    return parts


@dataclass(frozen=True, kw_only=True)
class AzampaySettings:
    azampay_base_url: str | None = setting(None, parse.base_url, is_shown=False)
    azampay_authenticator_url: str | None = setting(None, parse.base_url, is_shown=False)
    azampay_app_name: str | None = setting(None, _PLAIN_TEXT)
    azampay_client_id: str | None = setting(None, _ANYTHING)
    azampay_client_secret: str | None = setting(None, _ANYTHING, secret=True)
    azampay_public_key: str | None = setting(None, _PUBLIC_KEY)
    azampay_checksum_fields: tuple[str, ...] = setting(
        (
            *("source.accountNumber", "destination.accountNumber", "source.currency"),
            *("transferDetails.amount", "transferDetails.dateInEpoch", "externalReferenceId"),
        ),
        _checksum_fields,
    )
    azampay_source_account: str | None = setting(None, _CODE)
    azampay_source_name: str | None = setting(None, _PLAIN_TEXT)
    azampay_source_bank: str = setting("Azampesa", _CODE)
    azampay_transfer_type: str = setting("FUND", _CODE)
    azampay_mpesa_bank: str = setting("Vodacom", _CODE)
    azampay_tigo_pesa_bank: str = setting("Yas", _CODE)
    azampay_airtel_money_bank: str = setting("Airtel", _CODE)
    azampay_halopesa_bank: str = setting("Halotel", _CODE)
    azampay_query: bool = setting(True, parse.boolean)
    azampay_timeout_seconds: int = setting(60, _TIMEOUT)
    azampay_concurrency: int = setting(8, _CONCURRENCY)
    azampay_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    azampay_callback_networks: tuple[Network, ...] = setting((), parse.networks)


_ROUTE = parse.one_of("mpesa", "airtel_money", "tigo_pesa", "halopesa", "clickpesa", "azampay")


@dataclass(frozen=True, kw_only=True)
class RouteSettings:
    """Which connector carries what, where it is not the network's own."""

    route_mpesa_collection: str | None = setting(None, _ROUTE)
    route_mpesa_disbursement: str | None = setting(None, _ROUTE)
    route_tigo_pesa_collection: str | None = setting(None, _ROUTE)
    route_tigo_pesa_disbursement: str | None = setting(None, _ROUTE)
    route_airtel_money_collection: str | None = setting(None, _ROUTE)
    route_airtel_money_disbursement: str | None = setting(None, _ROUTE)
    route_halopesa_collection: str | None = setting(None, _ROUTE)
    route_halopesa_disbursement: str | None = setting(None, _ROUTE)
