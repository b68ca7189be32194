"""Texts on a phone: the prompt and the messages, in Kiswahili and in English."""

from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.state import Movement, Subscriber
from malipo_simulator.transaction import Transaction

_EAST_AFRICA = timezone(timedelta(hours=3))

# As subscribers know them.
BRANDS = {
    "MPESA": "M-Pesa",
    "AIRTEL_MONEY": "Airtel Money",
    "TIGO_PESA": "Tigo Pesa",
    "HALOPESA": "HaloPesa",
    "CLICKPESA": "ClickPesa",
    "AZAMPAY": "AzamPay",
}


# Whose name stands at the top of the screen.
CARRIERS = {"MPESA": "Vodacom", "AIRTEL_MONEY": "Airtel", "TIGO_PESA": "Yas", "HALOPESA": "Halotel"}


class Message(NamedTuple):
    at: float
    sender: str
    swahili: str
    english: str
    is_well: bool


def money(amount: int) -> str:
    return f"TZS {amount:,}"


def local_time(at: float, form: str = "%H:%M") -> str:
    return datetime.fromtimestamp(at, UTC).astimezone(_EAST_AFRICA).strftime(form)


def messages_of(subscriber: Subscriber, *, limit: int = 20) -> list[Message]:
    """The latest, newest first."""
    movements = {each.transaction_id: each for each in subscriber.movements[-limit:]}
    found: list[Message] = []
    for transaction in reversed(subscriber.transactions):
        if len(found) == limit:
            break
        words = _words(transaction, movements.get(transaction.id))
        if words is not None and transaction.decided_at is not None:
            is_well = transaction.outcome is Outcome.SUCCESS
            brand = BRANDS[transaction.channel]
            found.append(Message(transaction.decided_at, brand, *words, is_well))
    return sorted(found, key=lambda message: message.at, reverse=True)


def _words(transaction: Transaction, movement: Movement | None) -> tuple[str, str] | None:
    amount, merchant = money(transaction.amount), transaction.merchant
    if transaction.outcome is Outcome.SUCCESS:
        return _moved(transaction, movement)
    if transaction.outcome is Outcome.REVERSED:
        return _taken_back(transaction, movement)
    if transaction.kind is PaymentKind.DISBURSEMENT:
        return None  # No message to a recipient whom no money reached.
    if transaction.outcome is Outcome.DECLINED:
        return f"Umekataa kulipa {amount} kwa {merchant}.", f"You declined to pay {amount} to {merchant}."
    if transaction.outcome is Outcome.BALANCE_TOO_LOW:
        return (
            f"Salio lako halitoshi kulipa {amount} kwa {merchant}.",
            f"Your balance is too low to pay {amount} to {merchant}.",
        )
    if transaction.outcome is Outcome.EXPIRED:
        return (
            f"Muda wa kulipa {amount} kwa {merchant} umeisha.",
            f"The time to pay {amount} to {merchant} has run out.",
        )
    if transaction.outcome is Outcome.FAILED:
        return f"Malipo ya {amount} kwa {merchant} hayakufanikiwa.", f"Your payment of {amount} to {merchant} failed."
    return None


def _moved(transaction: Transaction, movement: Movement | None) -> tuple[str, str]:
    amount, merchant, receipt = money(transaction.amount), transaction.merchant, transaction.receipt
    swahili_balance, english_balance = _balance(movement)
    if transaction.kind is PaymentKind.COLLECTION:
        return (
            f"{receipt} Imethibitishwa. Umelipa {amount} kwa {merchant}.{swahili_balance}",
            f"Confirmed. You paid {amount} to {merchant}.{english_balance}",
        )
    return (
        f"{receipt} Imethibitishwa. Umepokea {amount} kutoka {merchant}.{swahili_balance}",
        f"Confirmed. You received {amount} from {merchant}.{english_balance}",
    )


def _taken_back(transaction: Transaction, movement: Movement | None) -> tuple[str, str]:
    amount, merchant, receipt = money(transaction.amount), transaction.merchant, transaction.receipt
    swahili_balance, english_balance = _balance(movement)
    if transaction.kind is PaymentKind.COLLECTION:
        return (
            f"{receipt} Muamala umerudishwa. Umerudishiwa {amount} ulizolipa kwa {merchant}.{swahili_balance}",
            f"Reversed. You got back {amount} that you paid to {merchant}.{english_balance}",
        )
    return (
        f"{receipt} Muamala umerudishwa. {amount} kutoka {merchant} zimeondolewa kwenye akaunti yako.{swahili_balance}",
        f"Reversed. {amount} from {merchant} was taken back.{english_balance}",
    )


def _balance(movement: Movement | None) -> tuple[str, str]:
    if movement is None:
        return "", ""
    balance = money(movement.balance_after)
    return f" Salio jipya ni {balance}.", f" New balance {balance}."
