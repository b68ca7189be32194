"""malipo books book, pending, approve and reject: money of the house at its bank, and opening balances."""

import argparse
from datetime import datetime
from typing import Any

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult, NotProposed, ProposedBooking
from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.cli.authority import add_alone
from malipo.cli.database import with_database, write
from malipo.cli.floats.transfers import account_of
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.wallet_bookings import Decision, add_decisions, amount_of, reference_of, sentence_of, word_of
from malipo.db import Database, Tx
from malipo.ledger.bank_bookings import BankBooking, BankBookingKind
from malipo.networks.connector import Channel
from malipo.reconciliation.close.business_day import parse_day
from malipo.settings import Settings


def add_subcommands(acts: Any) -> None:
    booking = add_subcommand(
        acts,
        "book",
        _book,
        "book money of the house at its bank; above an amount, and for equity, another operator must approve it",
    )
    kinds = [_typed(each) for each in BankBookingKind]
    booking.add_argument("kind", choices=kinds, metavar="KIND", help=", ".join(kinds))
    booking.add_argument("amount", help="whole shillings")
    booking.add_argument("--reference", required=True, help="the bank's reference; one of a kind is booked only once")
    booking.add_argument("--back", action="store_true", help="the money went the other way than usual")
    booking.add_argument("--day", type=parse_day, help="the day on which it counts; of an opening balance: at its end")
    booking.add_argument("--channel", choices=list(Channel), default="", help="of an opening balance at a network")
    booking.add_argument("--account", default="", help="which account there, if there are several")
    add_alone(booking)
    add_subcommand(acts, "pending", _pending, "list such bookings that wait for another operator")
    add_decisions(acts, _decide, "booking")


def _typed(kind: BankBookingKind) -> str:
    return kind.replace("_", "-")


def _book(arguments: argparse.Namespace, settings: Settings) -> int:
    booking = BankBooking(
        BankBookingKind(arguments.kind.replace("-", "_")),
        amount_of(arguments.amount),
        reference_of(arguments.reference),
        is_back=arguments.back,
        day=arguments.day,
        channel=arguments.channel,
        account=account_of(arguments.account),
    )

    async def act(tx: Tx, actor: Actor, now: datetime) -> BookingResult:
        limit = (await with_limits(tx, settings)).booking_approval_amount
        return await booking_approval.request(
            tx, booking, approval_amount=limit, actor=actor, now=now, is_single_operator=arguments.alone
        )

    requested = write(arguments, settings, act)
    shown = {
        "kind": booking.kind,
        "amount": booking.amount,
        "reference": booking.bank_reference,
        "isBack": booking.is_back,
        "day": booking.day,
        "channel": booking.channel or None,
        "account": booking.account or None,
        "isNew": requested.is_new,
        "isProposed": requested.proposal is not None,
    }
    return print_result(arguments, shown, sentence_of(requested, booking.amount, booking.bank_reference))


def _is_of_books(proposal: ProposedBooking) -> bool:
    """Whether these commands show and decide it: money of the house at its bank, or money in suspense."""
    return isinstance(proposal.booking, BankBooking) or proposal.releases is not None


def _pending(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            return [
                {
                    "id": each.id,
                    "reference": each.bank_reference,
                    "kind": each.kind.replace("_", "-"),
                    "back": each.is_back,
                    "day": each.day,
                    "releases": each.releases,
                    "merchant": each.merchant_id,
                    "channel": each.channel or None,
                    "account": each.account or None,
                    "amount": each.amount,
                    "proposed by": each.requested_by,
                    "proposed at": each.requested_at,
                }
                for each in await booking_approval.find_open(connection)
                if _is_of_books(each)
            ]

    return print_table(
        arguments, with_database(settings, act), empty="No such booking waits for an operator.", right=("amount",)
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decision, is_approval: bool) -> int:
    async def look(_: Tx, proposal: ProposedBooking) -> ProposedBooking:
        if not _is_of_books(proposal):  # another booking: nothing of it is committed
            raise NotProposed(arguments.booking)
        return proposal

    proposal: ProposedBooking = decide(arguments, settings, look)
    shown = {
        "id": proposal.id,
        "kind": proposal.kind,
        "amount": proposal.amount,
        "reference": proposal.bank_reference,
        "isBack": proposal.is_back,
        "proposedBy": proposal.requested_by,
        "isBooked": is_approval,
    }
    what = f"{proposal.kind.replace('_', '-')} {proposal.bank_reference} of {money.display(proposal.amount)}"
    return print_result(arguments, shown, f"{word_of(is_approval)}: {what}.")
