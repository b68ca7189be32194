"""Switches of each gateway: their values and defaults. Pure data."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from malipo_simulator.transaction import GatewayName

Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Speed = Annotated[float, Meta(gt=0, le=10_000)]
Name = Annotated[str, Meta(min_length=1, max_length=60)]
Code = Annotated[str, Meta(min_length=1, max_length=60)]  # any: a network may answer with an unknown one
HttpStatus = Annotated[str, Meta(pattern="^(200|[45][0-9]{2})$")]


class Switches(msgspec.Struct, kw_only=True, rename="camel"):
    merchant: Name = "Demo Shop"  # the business that the contract is with, as prompts name it
    latency_seconds: Seconds = 0
    error_rate: Share = 0  # answered HTTP 500 before anything is done
    lost_request_rate: Share = 0  # cut before anything is done
    lost_reply_rate: Share = 0  # everything is done, then the connection is cut
    is_down: bool = False
    not_found_seconds: Seconds = 0  # how long a query does not find what is new
    forget_seconds: Seconds = 0  # keys older than this are taken again, and move money again; 0: none ever is
    callback_delay_seconds: Seconds = 0  # before a callback leaves

    @property
    def is_calm(self) -> bool:
        return not (
            self.is_down or self.latency_seconds or self.error_rate or self.lost_request_rate or self.lost_reply_rate
        )


class QuerySwitches(Switches, kw_only=True, rename="camel"):
    """Of the gateways that can be asked."""

    query_error: Code | None = None  # what every query is answered with
    wrong_query_credentials: bool = False  # refused where they ask, and nowhere else


class MpesaSwitches(QuerySwitches, kw_only=True, rename="camel"):
    mode: Literal["async", "sync"] = "async"
    session_seconds: Seconds = 1200
    session_delay_seconds: Seconds = 0  # before a fresh session is live
    not_found_code: Literal["INS-23", "INS-6140", "both"] = "INS-23"  # both: in turn
    # What a query says while a payment is under way: a word for its status, or a code (INS-…) that refuses the query.
    pending_answer: Annotated[str, Meta(max_length=60)] = "Pending"


class AirtelSwitches(QuerySwitches, kw_only=True, rename="camel"):
    # signed: over {"transaction":…}; signedObject: over the object alone; wrapped: country, mno, payload, unsigned.
    callback_form: Literal["signed", "signedObject", "unsigned", "wrapped"] = "signed"
    pin_padding: Literal["pkcs1v15", "oaep"] = "pkcs1v15"  # of x-key too
    signing: Literal["off", "required"] = "off"  # off: what was signed is not looked at
    summary_times: Literal["epoch", "milliseconds", "rfc3339"] = "epoch"  # in the summary of transactions
    token_seconds: Seconds = 180


class TigoSwitches(QuerySwitches, kw_only=True, rename="camel"):
    callback_status: Literal["boolean", "string"] = "boolean"
    has_query: bool = True  # Not every partner has one.
    cash_in_type: Literal["REQMFICI", "REQMFCI", "REQMFICIK"] = "REQMFICI"
    not_found_code: Code = "GetSOError010"
    general_error_rate: Share = 0  # paid, and answered with the code that leaves it open
    token_seconds: Seconds = 3600


class HalopesaSwitches(Switches, kw_only=True, rename="camel"):
    callback_form: Literal["bare", "enveloped"] = "bare"
    sends_interim: bool = True  # a callback that is not final, before the one that is
    skew_seconds: Seconds = 300


class ClickpesaSwitches(QuerySwitches, kw_only=True, rename="camel"):
    query_error: HttpStatus | None = None
    # canonical: over compact JSON with sorted keys; values: the older form, over the values in order of their keys.
    checksum: Literal["canonical", "values", "off"] = "canonical"
    balance_form: Literal["list", "object"] = "list"  # of the balances: a list, or an object that has one
    initiated_status: Name = "SUCCESS"  # in PAYOUT INITIATED, which says only that the payout has begun
    token_seconds: Seconds = 3600


class AzampaySwitches(QuerySwitches, kw_only=True, rename="camel"):
    query_error: HttpStatus | None = None
    # accounts: both accounts come first, as test hosts have accepted it; bank: the destination's bank and account do.
    checksum: Literal["accounts", "bank"] = "accounts"
    callback_form: Literal["payouts", "collections"] = "payouts"  # the names of its fields
    names_status: bool = True  # Not every account's query names one.
    finds_by_reference: bool = True  # Nor does every one find by the merchant's own reference.
    duplicate_status: Literal["403", "400", "200"] = "403"  # the HTTP status of a repeated reference
    skew_seconds: Seconds = 300
    token_seconds: Seconds = 21_600


KINDS: dict[GatewayName, type[Switches]] = {
    GatewayName.MPESA: MpesaSwitches,
    GatewayName.AIRTEL_MONEY: AirtelSwitches,
    GatewayName.TIGO_PESA: TigoSwitches,
    GatewayName.HALOPESA: HalopesaSwitches,
    GatewayName.CLICKPESA: ClickpesaSwitches,
    GatewayName.AZAMPAY: AzampaySwitches,
}
