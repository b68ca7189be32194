"""malipo trigger: makes a payment with the simulated networks that causes an event, to test a receiver.

The event is real: a payment is created through the API, and the simulated phone answers its prompt.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from malipo import money, randomness
from malipo.cli.command_table import COMMANDS
from malipo.cli.developer.credentials import Access, access, add_arguments, phones_url
from malipo.cli.developer.sandbox import Sandbox, Transaction
from malipo.cli.output import add_subcommand, print_result
from malipo.errors import Impossible, Invalid
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel, Type
from malipo.outbox.event import Event
from malipo.payments.transaction import Status
from malipo.settings import Settings

# A worker is notified of a payment at once, and is mostly faster; of several in a row it is notified later.
_CANCEL_TRIES = 20


@dataclass(frozen=True)
class Scenario:
    type: Type
    digits: str  # how the phone's number ends, which says what it does (docs/simulator.md)
    ends: Status | None
    answer: str | None = None  # the simulated customer acts, so that nobody has to wait


SCENARIOS = {
    Event.PAYMENT_PENDING: Scenario(Type.COLLECTION, "100", None),
    Event.PAYMENT_COMPLETED: Scenario(Type.COLLECTION, "001", Status.COMPLETED, "approve"),
    Event.PAYMENT_FAILED: Scenario(Type.COLLECTION, "101", Status.FAILED, "decline"),
    Event.PAYMENT_CANCELLED: Scenario(Type.COLLECTION, "101", Status.CANCELLED),
    Event.PAYOUT_COMPLETED: Scenario(Type.DISBURSEMENT, "001", Status.COMPLETED),
    Event.PAYOUT_FAILED: Scenario(Type.DISBURSEMENT, "101", Status.FAILED),
    Event.PAYOUT_CANCELLED: Scenario(Type.DISBURSEMENT, "101", Status.CANCELLED),
}


_CORRECTION = "A correction cannot be triggered: it takes a network that takes back its word."
_WHY_NOT = {
    Event.PAYMENT_REFUNDED: "A refund cannot be triggered: refund a payment that is COMPLETED.",
    Event.BATCH_COMPLETED: "A batch cannot be triggered: make one, and approve it as somebody else.",
}


def add_commands(commands: Any) -> None:
    trigger = add_subcommand(commands, "trigger", _trigger, COMMANDS["trigger"].help)
    trigger.add_argument("event", metavar="EVENT", help=", ".join(SCENARIOS))
    add_arguments(trigger)
    trigger.add_argument("--phones-url", metavar="URL", help="the simulator's URL (default: the demo's)")
    trigger.add_argument("--amount", type=int, default=1000, help="whole shillings (default: 1000)")
    trigger.add_argument("--channel", default=Channel.MPESA, help=f"{', '.join(Channel)} (default: MPESA)")
    trigger.add_argument(
        "--metadata", metavar="NAME=TEXT", nargs="+", action="extend", default=[], help="such as orderId=17"
    )


def _trigger(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.event not in list(Event):
        raise Invalid(f"There is no event {arguments.event!r}. There are: {', '.join(SCENARIOS)}.")
    if arguments.event not in SCENARIOS:
        raise Invalid(_WHY_NOT.get(Event(arguments.event), _CORRECTION))
    if arguments.channel.upper() not in list(Channel):
        raise Invalid(f"There is no channel {arguments.channel!r}. There are: {', '.join(Channel)}.")
    event, phones = Event(arguments.event), phones_url(arguments, settings)
    found = access(arguments, settings)
    fields = {
        "amount": arguments.amount,
        "channel": arguments.channel.upper(),
        "description": f"malipo trigger {event}",
        "metadata": _metadata(arguments.metadata),
    }

    async def act() -> Transaction:
        async with aiohttp.ClientSession() as http:
            stage = Sandbox(http, found, phones)
            await stage.check()
            return await play(stage, SCENARIOS[event], fields)

    payment = asyncio.run(act())
    return print_result(arguments, {"event": event, "transaction": payment}, _in_words(event, payment, found, phones))


async def play(stage: Sandbox, scene: Scenario, fields: dict[str, Any]) -> Transaction:
    """The payment, as it is when the event has happened."""
    if scene.ends is Status.CANCELLED:
        return await _cancelled(stage, scene, fields)
    phone = _phone(fields["channel"], scene.digits)
    payment = await stage.take(scene.type, fields | _party(scene.type, phone))
    payment = await stage.until_seen(payment, phone)
    if scene.ends is None:
        return payment
    if scene.answer is not None:
        await stage.answer(phone, scene.answer)
    ended = await stage.until_ended(payment)
    if ended["status"] != scene.ends:
        why = f" ({ended['failureReason']})" if ended.get("failureReason") else ""
        raise Impossible(f"{ended['reference']} is {ended['status']}{why} and not {scene.ends}.")
    return ended


async def _cancelled(stage: Sandbox, scene: Scenario, fields: dict[str, Any]) -> Transaction:
    late: list[str] = []
    while len(late) < _CANCEL_TRIES:
        # If we are too late nothing is paid: this phone declines.
        phone = _phone(fields["channel"], scene.digits)
        payment = await stage.take(scene.type, fields | _party(scene.type, phone))
        if cancelled := await stage.cancel(payment):
            if late:
                print(f"Too late to be cancelled, and refused by the phone: {', '.join(late)}.", file=sys.stderr)
            return cancelled
        if not late:
            await stage.until_seen(payment, phone)  # Not one more, if this went where money is real.
        late.append(payment["reference"])
    raise Impossible(
        f"A worker was faster than {_CANCEL_TRIES} cancellations in a row. Try again when it is less busy."
    )


def _phone(channel: str, digits: str) -> str:
    """A number that does what we want, and that hardly anybody has used before."""
    return f"{PROFILES[Channel(channel)].prefixes[-1]}{randomness.below(10_000):04}{digits}"


def _party(type_: Type, phone: str) -> dict[str, str]:
    party, name = ("buyer", "Asha") if type_ is Type.COLLECTION else ("recipient", "Juma")
    return {f"{party}Phone": phone, f"{party}Name": name}


def _metadata(pairs: Sequence[str]) -> dict[str, str]:
    if wrong := [pair for pair in pairs if not pair.partition("=")[0] or "=" not in pair]:
        raise Invalid(f"--metadata is written as orderId=17, not {wrong[0]!r}.")
    return dict(pair.split("=", 1) for pair in pairs)


def _in_words(event: Event, payment: Transaction, access: Access, phones: str) -> str:
    is_collection = payment["type"] == Type.COLLECTION
    phone = payment["buyerPhone" if is_collection else "recipientPhone"]
    way = f"from {phone}" if is_collection else f"to {phone}"
    lines = [
        f"{event}: {payment['reference']}, {money.display(payment['amount'])} {way} over {payment['channel']}.",
        "",
    ]
    lines += [f"  {log['timestamp']}  {log['status']}" for log in payment["statusLogs"]]
    if reason := payment.get("failureReason"):
        lines += [f"  {reason}"]
    if event is Event.PAYMENT_PENDING:
        lines += ["", "The customer's phone is asking. Answer it within 30 s, and the next event follows."]
    lines += ["", "See it:", ""]
    lines += [f'  curl -s {access.base_url}/v1/payments/{payment["reference"]} -H "x-api-key: $MALIPO_API_KEY"']
    lines += [] if payment["status"] == Status.CANCELLED else [f"  {phones}/phones/{phone}"]
    return "\n".join(lines)
