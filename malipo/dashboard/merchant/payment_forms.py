"""The parts that forms of new payments and of refunds share: the idempotency key, and the fee."""

from dataclasses import dataclass

from starlette.responses import Response

from malipo import money, randomness
from malipo.accounts.reauthentication import SensitiveAct
from malipo.dashboard import reauthentication_pages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.ledger.wallet import Wallet
from malipo.payments.limits.person_limits import PersonLimit, limit_of
from malipo.payments.transaction import Transaction, Type

_TOO_LITTLE = "You need {missing} more: the wallet holds {available}."
_TOO_MUCH_OWED = "You need {missing} more: the wallet holds {available}, of which {owed} is owed."
_WITH_FEE = "With the fee of {fee} this takes {needed}."
IN_DOUBT = "We do not know whether this was done. Press once more: it will not be done twice."
SENTENCES = (_TOO_LITTLE, _TOO_MUCH_OWED, _WITH_FEE, IN_DOUBT)


@dataclass(frozen=True, slots=True)
class Quote:
    """The effect of a payment on the wallet, shown before it is made."""

    fee: int
    arrives: int  # in the merchant's wallet, or at the recipient
    leaves: int  # from the customer, or from the merchant's wallet
    wallet: Wallet
    needs_approval: bool = False  # somebody else must approve it


def quote_of(draft: Transaction, fee: int, wallet: Wallet) -> Quote:
    if draft.type is Type.DISBURSEMENT:
        return Quote(fee, arrives=draft.amount, leaves=draft.amount + fee, wallet=wallet)
    return Quote(fee, arrives=draft.amount - fee, leaves=draft.amount, wallet=wallet)


def kept(page: Response) -> Response:
    """Going back shows the form with its key and its fields, and not the browser's page about resending."""
    page.headers["Cache-Control"] = "private, no-cache"
    return page


def new_key() -> str:
    return f"dashboard-{randomness.token_hex(16)}"


def limit_of_person(request: MerchantRequest) -> PersonLimit | None:
    """The sum that may be paid out without the password. None: the password was just typed, so there is no limit."""
    if reauthentication_pages.is_confirmed(request, SensitiveAct.PAYOUT):
        return None
    parts = request.parts
    return limit_of(
        request.merchant_id,
        request.actor.name,
        confirmed_at=request.confirmed_at,
        most=parts.settings.confirm_payout_amount,
        now=parts.clock(),
    )


def too_little(request: MerchantRequest, quote: Quote) -> str:
    """The amount that the wallet lacks; and the fee, if there is one."""
    wallet = quote.wallet
    sums = {
        "missing": quote.leaves - wallet.spendable,
        "available": wallet.available,
        "owed": wallet.owed,
        "fee": quote.fee,
        "needed": quote.leaves,
    }
    sentences = [_TOO_MUCH_OWED if wallet.owed else _TOO_LITTLE, *([_WITH_FEE] if quote.fee else [])]
    amounts = {name: money.display(amount) for name, amount in sums.items()}
    return " ".join(request.words(each, **amounts) for each in sentences)
