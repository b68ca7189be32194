"""`malipo-client payouts`: send money to a phone, and see what became of it."""

from __future__ import annotations

import argparse
from itertools import islice
from typing import Any

from malipo_client.cli.confirm import channel_of, confirm, idempotency_key
from malipo_client.cli.output import line_of, shillings, show
from malipo_client.cli.pay import add_payment_arguments, see_through
from malipo_client.client import Malipo
from malipo_client.errors import ApiError
from malipo_client.records import ChannelName

_HELP = "send money to a phone, and see what became of it"


def add_command(commands: Any, service: argparse.ArgumentParser) -> None:
    payouts = commands.add_parser("payouts", help=_HELP, description=_HELP).add_subparsers(metavar="ACT", required=True)
    send = payouts.add_parser("send", parents=[service], help="send money from your wallet to a phone")
    send.set_defaults(command=_send)
    add_payment_arguments(send, "the recipient")
    list_ = payouts.add_parser("list", parents=[service], help="the newest payouts, each with the time it was made")
    list_.set_defaults(command=_list)
    list_.add_argument("--status", help="only with this status, or these, with commas between")
    list_.add_argument("--from", dest="from_", metavar="DATE", help="the first day, or moment")
    list_.add_argument("--to", metavar="DATE", help="the last day, or moment")
    list_.add_argument("--limit", type=int, default=20, help="how many (20)")
    get = payouts.add_parser("get", parents=[service], help="one payout")
    get.set_defaults(command=_get)
    get.add_argument("id", help="its id or reference")


def _send(arguments: argparse.Namespace) -> int:
    with Malipo(arguments.api_key, arguments.base_url) as malipo:
        channel = channel_of(malipo, arguments)
        if not arguments.yes:
            confirm(_question(malipo, channel, arguments), is_given=False)
        key = idempotency_key(arguments)
        payout = malipo.payments.disburse(
            amount=arguments.amount,
            channel=channel,
            recipient_phone=arguments.phone,
            recipient_name=arguments.name,
            description=arguments.description,
            order_reference=arguments.order_reference,
            idempotency_key=key,
        )
        return see_through(malipo, payout.id, arguments)


def _question(malipo: Malipo, channel: ChannelName, arguments: argparse.Namespace) -> str:
    """With the fee, and the name that the network has for the number if it tells."""
    quote = malipo.payments.quote(type="DISBURSEMENT", channel=channel, amount=arguments.amount)
    try:
        name = malipo.recipients.look_up(channel=channel, phone=arguments.phone).name
    except ApiError:
        name = None  # Not every key may ask, and not every network tells.
    return (
        f"Send {shillings(arguments.amount)} to {arguments.phone} ({name or 'name not known'}) by {channel}? "
        f"The fee is {shillings(quote.fee)}, and {shillings(quote.total_amount)} in all leave the wallet."
    )


def _list(arguments: argparse.Namespace) -> int:
    with Malipo(arguments.api_key, arguments.base_url) as malipo:
        found = malipo.payments.list(
            type="DISBURSEMENT",
            status=arguments.status,
            from_=arguments.from_,
            to=arguments.to,
            page_size=max(1, min(arguments.limit, 100)),
        )
        for payout in islice(found, max(0, arguments.limit)):
            show(payout, line_of(payout), arguments)
    return 0


def _get(arguments: argparse.Namespace) -> int:
    with Malipo(arguments.api_key, arguments.base_url) as malipo:
        payout = malipo.payments.get(arguments.id)
        show(payout, line_of(payout), arguments)
    return 0
