"""`malipo-client pay`: ask a customer for money, and wait until they have paid."""

from __future__ import annotations

import argparse
from typing import Any

from malipo_client.cli.confirm import channel_of, confirm, idempotency_key
from malipo_client.cli.exit_codes import HELP
from malipo_client.cli.output import line_of, shillings, show
from malipo_client.client import Malipo
from malipo_client.errors import NotEndedYet

_HELP = "ask a customer for money, and wait until they have paid"


def add_command(commands: Any, service: argparse.ArgumentParser) -> None:
    command = commands.add_parser("pay", parents=[service], help=_HELP, description=_HELP)
    command.set_defaults(command=_pay)
    add_payment_arguments(command, "the customer")


def add_payment_arguments(command: argparse.ArgumentParser, whom: str) -> None:
    command.epilog, command.formatter_class = HELP, argparse.RawDescriptionHelpFormatter
    command.add_argument("amount", type=int, help="whole shillings")
    command.add_argument("phone", help=f"the number of {whom}, such as +255754000001")
    command.add_argument("--channel", help="MPESA, TIGO_PESA, AIRTEL_MONEY or HALOPESA (default: by the number)")
    command.add_argument("--name", help=f"the name of {whom}")
    command.add_argument("--description")
    command.add_argument("--order-reference", metavar="TEXT", help="your own number for it")
    command.add_argument("--idempotency-key", metavar="KEY", help="the same key never pays twice (default: a new one)")
    command.add_argument("--no-wait", action="store_true", help="do not wait until it has ended")
    command.add_argument("--timeout", type=float, default=180, metavar="SECONDS", help="how long to wait (180)")
    command.add_argument("--yes", action="store_true", help="do not ask for a confirmation")


def _pay(arguments: argparse.Namespace) -> int:
    with Malipo(arguments.api_key, arguments.base_url) as malipo:
        channel = channel_of(malipo, arguments)
        asked = f"Ask {arguments.phone} by {channel} for {shillings(arguments.amount)}?"
        confirm(asked, is_given=arguments.yes)
        key = idempotency_key(arguments)
        payment = malipo.payments.collect(
            amount=arguments.amount,
            channel=channel,
            buyer_phone=arguments.phone,
            buyer_name=arguments.name,
            description=arguments.description,
            order_reference=arguments.order_reference,
            idempotency_key=key,
        )
        return see_through(malipo, payment.id, arguments)


def see_through(malipo: Malipo, id: str, arguments: argparse.Namespace) -> int:
    """Show the payment, and wait for its end unless that is not wanted; 0 if it was paid."""
    payment = malipo.payments.get(id)
    show(payment, line_of(payment), arguments)
    if arguments.no_wait:
        return 0
    if not payment.has_ended:
        try:
            payment = malipo.payments.wait_until_ended(id, timeout=arguments.timeout)
        except NotEndedYet as error:
            if error.transaction.status != payment.status:  # The last line says what the error says.
                show(error.transaction, line_of(error.transaction), arguments)
            raise
        show(payment, line_of(payment), arguments)
    return 0 if payment.status == "COMPLETED" else 1
