"""malipo books suspense, release and take-back: what is in suspense and since when; crediting it to a merchant, and the
way back."""

import argparse
from datetime import datetime
from typing import Any

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult
from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.books import suspense
from malipo.books.suspense import SuspenseList
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, cell, print_result
from malipo.cli.wallet_bookings import amount_of, reference_of, sentence_of
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.ledger.bookings import Booking, BookingKind
from malipo.merchants import onboard
from malipo.settings import Settings
from malipo.words import books as words


def add_subcommands(acts: Any) -> None:
    add_subcommand(acts, "suspense", _list, "what is in suspense, why and since when")
    release = add_subcommand(
        acts,
        "release",
        _release,
        "credit money in suspense to a merchant; another operator must approve it",
    )
    take_back = add_subcommand(
        acts,
        "take-back",
        _take_back,
        "take back into suspense what was credited to the wrong merchant; another operator must approve it",
    )
    for act in (release, take_back):
        act.add_argument("booking", help="the booking that put it there, as `malipo books suspense` lists it")
        act.add_argument("amount", help="whole shillings")
        act.add_argument("--merchant", required=True, help="the merchant's id or name")
        act.add_argument(
            "--reference", required=True, help="your reference, on the merchant's statement; booked only once"
        )


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> SuspenseList:
        async with database.snapshot() as connection:
            return await suspense.find(connection, now=await database_now(connection))

    found = with_database(settings, act)
    as_json = {
        "balance": found.balance,
        "withoutCause": found.without_cause,
        "items": found.items,
        "byAge": [{"days": name, "amount": amount} for name, amount in found.by_age.items()],
    }
    print_result(arguments, as_json, "\n".join(_lines(found)))
    return 1 if found.without_cause else 0


def _lines(found: SuspenseList) -> list[str]:
    if not found.items and not found.without_cause:
        return ["Nothing is in suspense."]
    lines = [f"{'since':<12}{'days':>6}{'amount':>18}  cause"]
    for each in found.items:
        about = (each.cause, each.channel, each.account, each.reference, each.receipt, each.merchant_id, each.evidence)
        why = words.SUSPENSE_CAUSES.get(each.kind, each.kind)
        lines.append(
            f"{each.since!s:<12}{each.days:>6,}{each.amount:>18,}  {why}: {cell(' '.join(filter(None, about)))}"
        )
    lines.append("")
    lines += [f"{name + ' days':<18}{amount:>18,}" for name, amount in found.by_age.items()]
    lines.append(f"{'suspense':<18}{found.balance:>18,}")
    if found.without_cause:
        lines.append(f"{money.display(found.without_cause)} of it have no cause. See: malipo ledger check")
    return lines


def _release(arguments: argparse.Namespace, settings: Settings) -> int:
    return _request(arguments, settings, BookingKind.SUSPENSE_RELEASE)


def _take_back(arguments: argparse.Namespace, settings: Settings) -> int:
    return _request(arguments, settings, BookingKind.SUSPENSE_TAKE_BACK)


def _request(arguments: argparse.Namespace, settings: Settings, kind: BookingKind) -> int:
    amount, reference = amount_of(arguments.amount), reference_of(arguments.reference)

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[BookingResult, str]:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        booking = Booking(kind, merchant_id, amount, reference, arguments.booking.strip())
        limit = (await with_limits(tx, settings)).booking_approval_amount
        return await booking_approval.request(tx, booking, approval_amount=limit, actor=actor, now=now), merchant_id

    requested, merchant_id = write(arguments, settings, act)
    shown = {
        "merchantId": merchant_id,
        "releases": arguments.booking.strip(),
        "amount": amount,
        "reference": reference,
        "isNew": requested.is_new,
        "isProposed": requested.proposal is not None,
    }
    return print_result(arguments, shown, sentence_of(requested, amount, reference))
