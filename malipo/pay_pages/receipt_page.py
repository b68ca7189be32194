"""The receipt of a payment for people. Everybody with its address sees it, with the phone number masked, and can
download the proof."""

from datetime import UTC, datetime
from enum import StrEnum

from msgspec.structs import replace
from starlette.responses import Response

from malipo.api.responses import success
from malipo.db import Conn
from malipo.errors import Missing
from malipo.http.public_url import public_url
from malipo.merchants.public_profile import PublicProfile
from malipo.merchants.store import public_profiles
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.pay_pages import render
from malipo.pay_pages.request import PayRequest
from malipo.payments.transaction import Status, Type
from malipo.receipts import checkpoint
from malipo.receipts.find_receipt import Receipt, find_by_token
from malipo.receipts.receipt_json import merchant_of, receipt_view


class NoSuchReceipt(Missing):
    code = "receipt_not_found"

    def __init__(self) -> None:
        super().__init__("There is no receipt at this address.")


class ProofState(StrEnum):
    PROVEN = "proven"
    NOT_YET = "not_yet"
    NONE = "none"  # there is no log
    ERASED = "erased"


async def show(request: PayRequest) -> Response:
    receipt, profile = await _find(request)
    payment = receipt.payment
    address = _address(request, receipt)
    return render.page(
        request,
        "receipt.html",
        merchant=_as_paid(receipt, profile),
        payment=payment,
        network=PROFILES[payment.channel].name,
        is_payout=payment.type is Type.DISBURSEMENT,
        is_taken_back=payment.correction is not None and payment.correction.outcome is Status.FAILED,
        at=payment.completed_at or (payment.correction and payment.correction.corrected_at),
        refunds=[each for each in payment.refunds if each.is_paid],
        proof=_proof_state(request, receipt),
        proven_at=_proven_at(receipt),
        file=f"/receipt/{receipt.token}/receipt.json",
        address=address,
    )


async def download(request: PayRequest) -> Response:
    """The file that `verify_receipt.py` verifies: the same as the API's answer."""
    receipt, _ = await _find(request)
    name = f"receipt-{receipt.payment.reference}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return success({"receipt": receipt_view(receipt, url=_address(request, receipt))}, headers=headers)


async def _find(request: PayRequest) -> tuple[Receipt, PublicProfile]:
    token = str(request.http.path_params["token"])

    async def read(connection: Conn) -> tuple[Receipt, PublicProfile] | None:
        found = await find_by_token(connection, token)
        if found is None:
            return None
        return found, await public_profiles.find(connection, found.payment.merchant_id)

    found = await request.parts.queries.read_snapshot(read)
    if found is None:
        raise NoSuchReceipt
    request.remember_merchant(_as_paid(*found))
    return found


def _address(request: PayRequest, receipt: Receipt) -> str:
    return f"{public_url(request.parts.settings, request.http)}/receipt/{receipt.token}"


def _as_paid(receipt: Receipt, profile: PublicProfile) -> PublicProfile:
    """The merchant with its proven name and TIN of that time, and with its present contact."""
    paid = merchant_of(receipt)
    return replace(profile, registered_name=paid.registered_name or paid.name, name=paid.name, tin=paid.tin)


def _proof_state(request: PayRequest, receipt: Receipt) -> ProofState:
    if any(each.kept.fact is None for each in receipt.facts):
        return ProofState.ERASED
    if receipt.facts and not receipt.pending and all(each.proof for each in receipt.facts):
        return ProofState.PROVEN
    return ProofState.NONE if request.parts.settings.receipt_log == "off" else ProofState.NOT_YET


def _proven_at(receipt: Receipt) -> datetime | None:
    """The time of the oldest checkpoint among its proofs."""
    times = [checkpoint.time_of(each.proof.checkpoint) for each in receipt.facts if each.proof is not None]
    return datetime.fromtimestamp(min(times), UTC) if times else None
