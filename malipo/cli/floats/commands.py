"""malipo floats …: what lies at each network, by the ledger and as it was seen there."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import NotProposed, ProposedBooking, Requested
from malipo.approvals.limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.cli.authority import add_alone
from malipo.cli.command_table import COMMANDS
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, tell, tell_table
from malipo.cli.wallet_bookings import Decision, add_decisions, amount_of, reference_of, sentence_of, word_of
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.floats import store
from malipo.floats.note_readings import note_seen
from malipo.floats.position import Position
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.networks.connector import Channel
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    help_ = COMMANDS["floats"].help
    floats = add_subcommand(commands, "floats", _list, help_)
    acts = floats.add_subparsers(title="acts", metavar="ACT")
    add_subcommand(acts, "list", _list, help_)
    read = add_subcommand(acts, "read", _read, "record the balance that the network's portal shows")
    read.add_argument("channel", choices=list(Channel), metavar="CHANNEL", help="such as MPESA")
    read.add_argument("amount", help="whole shillings")
    add_account(read)
    add_subcommands(acts, add_account)


def add_account(act: Any) -> None:
    act.add_argument(
        "--account", default="", help="the account, if there are several at that network (default: the only one)"
    )


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    low = dict(settings.float_low)

    async def act(database: Database) -> list[Position]:
        async with database.snapshot() as connection:
            return await store.find_positions(connection)

    now = clock.now()
    positions = with_database(settings, act)
    if arguments.json:
        return tell(arguments, [_as_json(each, low.get(each.channel), now) for each in positions], "")
    return tell_table(
        arguments,
        [_as_row(each, low.get(each.channel), now) for each in positions],
        empty="",
        right=("ledger", "reading", "difference", "in flight", "cover", "low below"),
    )


def _as_row(position: Position, low: int | None, now: datetime) -> dict[str, Any]:
    cover = position.cover(now)
    return {
        "channel": position.channel,
        "ledger": position.ledger,
        "reading": position.reading,
        "difference": position.difference,
        "read": "never" if position.read_at is None else f"{_age(now - position.read_at)} ago",
        "in flight": position.in_flight,
        "cover": cover,
        "low below": low,
        "is low": low is not None and cover < low,
    }


def _as_json(position: Position, low: int | None, now: datetime) -> dict[str, Any]:
    cover = position.cover(now)
    return {
        "channel": position.channel,
        "ledger": position.ledger,
        "reading": position.reading,
        "readAt": position.read_at,
        "ageSeconds": None if position.read_at is None else round((now - position.read_at).total_seconds()),
        "difference": position.difference,
        "inFlight": position.in_flight,
        "cover": cover,
        "lowBelow": low,
        "isLow": low is not None and cover < low,
        "accounts": [
            {
                "account": each.account,
                "amount": each.amount,
                "source": each.source,
                "readAt": each.read_at,
                "notedBy": each.noted_by,
                "isShared": each.is_shared,
            }
            for each in position.readings
        ],
    }


def _age(age: Any) -> str:
    minutes = round(age.total_seconds() / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


def _read(arguments: argparse.Namespace, settings: Settings) -> int:
    channel, account = Channel(arguments.channel), account_of(arguments.account)
    amount = 0 if arguments.amount.strip() == "0" else amount_of(arguments.amount)

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await note_seen(tx, channel, account, amount, actor=actor, now=now)

    write(arguments, settings, act)
    shown = {"channel": channel, "account": account, "amount": amount}
    return tell(arguments, shown, f"Noted: {money.display(amount)} at {channel}. It moves nothing.")


# malipo floats transfer, pending, approve and reject: transfers between a network and the bank.


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

    async def act(tx: Tx, actor: Actor, now: datetime) -> Requested:
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
    return tell(arguments, shown, sentence_of(requested, amount, reference))


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
                if each.channel is not None
            ]

    return tell_table(
        arguments, with_database(settings, act), empty="No transfer waits for an operator.", right=("amount",)
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decision, is_approval: bool) -> int:
    async def look(_: Tx, proposal: ProposedBooking) -> ProposedBooking:
        if proposal.channel is None:  # a merchant's: nothing of it is committed
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
    return tell(arguments, shown, f"{word_of(is_approval)}: {what}.")


def account_of(text: str) -> str:
    if len(text) > 60 or not text.isprintable():
        raise Invalid("--account must be up to 60 printable characters.")
    return text
