"""malipo floats transfer, pending, approve and reject: transfers between a network and the bank."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult, NotProposed, ProposedBooking
from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.cli.authority import add_alone
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.wallet_bookings import Decision, add_decisions, amount_of, reference_of, sentence_of, word_of
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.networks.connector import Channel
from malipo.settings import Settings

_WORDS = {TransferKind.TO_BANK: "to the bank", TransferKind.FROM_BANK: "from the bank"}


def add_subcommands(acts: Any, add_account: Callable[[Any], None]) -> None:
    transfer = add_subcommand(
        acts,
        "transfer",
        _transfer,
        "book money that went between a network and the bank; above an amount, another operator must approve it",
    )
    transfer.add_argument("channel", choices=list(Channel), metavar="CHANNEL", help="such as MPESA")
    transfer.add_argument("amount", help="whole shillings")
    way = transfer.add_mutually_exclusive_group(required=True)
    way.add_argument(
        "--to-bank",
        dest="kind",
        action="store_const",
        const=TransferKind.TO_BANK,
        help="the network paid the amount out to the bank",
    )
    way.add_argument(
        "--from-bank",
        dest="kind",
        action="store_const",
        const=TransferKind.FROM_BANK,
        help="the bank paid the amount in at the network",
    )
    transfer.add_argument("--reference", required=True, help="the bank's reference; one reference is booked only once")
    add_account(transfer)
    add_alone(transfer)
    add_subcommand(acts, "pending", _pending, "list transfers that wait for another operator")
    add_decisions(acts, _decide, "transfer")


def _transfer(arguments: argparse.Namespace, settings: Settings) -> int:
    amount, reference = amount_of(arguments.amount), reference_of(arguments.reference)
    transfer = Transfer(arguments.kind, Channel(arguments.channel), account_of(arguments.account), amount, reference)

    async def act(tx: Tx, actor: Actor, now: datetime) -> BookingResult:
        limit = (await with_limits(tx, settings)).booking_approval_amount
        return await booking_approval.request(
            tx, transfer, approval_amount=limit, actor=actor, now=now, is_single_operator=arguments.alone
        )

    requested = write(arguments, settings, act)
    shown = {
        "channel": transfer.channel,
        "account": transfer.account,
        "kind": transfer.kind,
        "amount": amount,
        "reference": reference,
        "isNew": requested.is_new,
        "isProposed": requested.proposal is not None,
    }
    return print_result(arguments, shown, sentence_of(requested, amount, reference))


def _pending(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            return [
                {
                    "id": each.id,
                    "reference": each.bank_reference,
                    "channel": each.channel,
                    "account": each.account or None,
                    "way": _WORDS[TransferKind(each.kind)],
                    "amount": each.amount,
                    "proposed by": each.requested_by,
                    "proposed at": each.requested_at,
                }
                for each in await booking_approval.find_open(connection)
                if isinstance(each.booking, Transfer)
            ]

    return print_table(
        arguments, with_database(settings, act), empty="No transfer waits for an operator.", right=("amount",)
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decision, is_approval: bool) -> int:
    async def look(_: Tx, proposal: ProposedBooking) -> ProposedBooking:
        if not isinstance(proposal.booking, Transfer):  # another booking: nothing of it is committed
            raise NotProposed(arguments.booking)
        return proposal

    proposal: ProposedBooking = decide(arguments, settings, look)
    shown = {
        "id": proposal.id,
        "channel": proposal.channel,
        "account": proposal.account,
        "kind": proposal.kind,
        "amount": proposal.amount,
        "reference": proposal.bank_reference,
        "proposedBy": proposal.requested_by,
        "isBooked": is_approval,
    }
    what = f"{proposal.bank_reference}, {money.display(proposal.amount)} {_WORDS[TransferKind(proposal.kind)]}"
    return print_result(arguments, shown, f"{word_of(is_approval)}: {what}.")


def account_of(text: str) -> str:
    if len(text) > 60 or not text.isprintable():
        raise Invalid("--account must be up to 60 printable characters.")
    return text
