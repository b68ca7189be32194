"""malipo wallet …"""

import argparse
from typing import Any

from malipo import clock, money
from malipo.cli.work import add_act, tell, with_database, write
from malipo.db import Database
from malipo.errors import Invalid
from malipo.ledger.book import Kind, book
from malipo.ledger.store import wallets
from malipo.merchants import onboard
from malipo.settings import Settings
from malipo.trail import store as trail


def add_commands(commands: Any) -> None:
    wallet = commands.add_parser("wallet", help="a merchant's wallet: look, bring in, take out")
    acts = wallet.add_subparsers(title="acts", metavar="ACT", required=True)
    add_act(acts, "show", _show, "what a wallet holds").add_argument("merchant", help="the merchant's id or name")
    for name, command, help_ in (
        ("top-up", _top_up, "book money that arrived at the bank into the wallet"),
        ("settle", _settle, "book money that was sent to the merchant's bank account out of the wallet"),
    ):
        act = add_act(acts, name, command, help_)
        act.add_argument("merchant", help="the merchant's id or name")
        act.add_argument("amount", help="whole shillings")
        act.add_argument("--reference", required=True, help="the bank's reference; the same one books once")


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> Any:
        async with database.begin() as tx:
            return await wallets.get(tx, await onboard.find_merchant(tx, arguments.merchant))

    wallet, updated_at = with_database(settings, act)
    shown = {
        "merchantId": wallet.merchant_id,
        "currency": money.CURRENCY,
        "available": wallet.available,
        "reserved": wallet.in_flight,
        "updatedAt": clock.iso(updated_at),
    }
    sentence = f"{money.display(wallet.available)} available, {money.display(wallet.in_flight)} reserved for payouts."
    return tell(arguments, shown, sentence)


def _top_up(arguments: argparse.Namespace, settings: Settings) -> int:
    return _book(arguments, settings, Kind.TOP_UP)


def _settle(arguments: argparse.Namespace, settings: Settings) -> int:
    return _book(arguments, settings, Kind.SETTLEMENT)


def _book(arguments: argparse.Namespace, settings: Settings, kind: Kind) -> int:
    amount = _amount(arguments.amount)
    reference = arguments.reference.strip()
    if not 1 <= len(reference) <= 100 or not reference.isprintable():
        raise Invalid("--reference must be 1 to 100 printable characters.")

    async def act(tx: Any, actor: Any, now: Any) -> tuple[bool, Any]:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        is_new = await book(tx, kind, merchant_id, amount, reference=reference, now=now)
        if is_new:
            await trail.note(
                tx, actor, f"wallet.{kind}", now=now, merchant_id=merchant_id, amount=amount, reference=reference
            )
        return is_new, (await wallets.get(tx, merchant_id))[0]

    is_new, wallet = write(settings, act)
    shown = {
        "merchantId": wallet.merchant_id,
        "kind": kind,
        "amount": amount,
        "reference": reference,
        "isNew": is_new,
        "available": wallet.available,
    }
    what = f"Booked {money.display(amount)}." if is_new else f"{reference} was booked before; nothing has changed."
    return tell(arguments, shown, f"{what} The wallet holds {money.display(wallet.available)}.")


def _amount(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isascii() or not digits.isdigit() or not 1 <= int(digits) <= 10**15:
        raise Invalid(f"The amount must be a whole number of shillings, such as 250000, not {text!r}.")
    return int(digits)
