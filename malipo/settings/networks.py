"""What the networks' contracts and portals give to an operator, and what differs from one application to another.

Nothing of this was published for certain, so nothing of it is a constant in the connectors. A network is connected
when its address is set; `networks/connect.py` says what else it then needs.
"""

from dataclasses import dataclass

from malipo.settings import parsers as parse
from malipo.settings.parsers import Network, setting

_ANYTHING = parse.matching(r"[!-~]{1,4096}", "printable characters without spaces")
_PUBLIC_KEY = parse.matching(r"[A-Za-z0-9+/=]{100,2000}", "the base64 text of a public key, without line breaks")
_PATH = parse.matching(r"[A-Za-z0-9._~/-]{1,200}", "a path")
_COUNTRY = parse.matching(r"[A-Z]{2,3}", "two or three capital letters")
_CALLBACK_TOKEN = parse.matching(r"[A-Za-z0-9_-]{16,200}", "at least 16 letters, digits, - or _")
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
    airtel_money_disbursement_path: str = setting("standard/v1/disbursements/", _PATH)
    airtel_money_disbursement_query_path: str = setting("standard/v1/disbursements/", _PATH)
    airtel_money_timeout_seconds: int = setting(60, _TIMEOUT)
    airtel_money_concurrency: int = setting(64, _CONCURRENCY)
    airtel_money_callback_token: str | None = setting(None, _CALLBACK_TOKEN, secret=True)
    airtel_money_callback_key: str | None = setting(None, _ANYTHING, secret=True)
    airtel_money_callback_hash: str = setting("either", parse.one_of("either", "wrapped", "object"))
    airtel_money_callback_networks: tuple[Network, ...] = setting((), parse.networks)
