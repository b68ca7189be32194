"""malipo wallet top-up, settle, pending, approve and reject: bookings between the bank and a wallet."""

import argparse
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult, NotProposed, ProposedBooking
from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import add_alone, require_here
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants import onboard
from malipo.merchants.store import merchants
from malipo.settings import Settings

APPROVE_AT = "Another operator must approve it, at /operator/bookings."
_WORDS = {BookingKind.TOP_UP: "top-up", BookingKind.SETTLEMENT: "settlement"}

Found = TypeVar("Found")
# Approves or rejects what the arguments name; what is then looked at is in the same commit.
Decision = Callable[[argparse.Namespace, Settings, Callable[[Tx, ProposedBooking], Awaitable[Any]]], Any]
# Does so, and says what was done; the flag says whether it is an approval.
Decide = Callable[[argparse.Namespace, Settings, Decision, bool], int]


def add_subcommands(acts: Any) -> None:
    for name, command, help_ in (
        ("top-up", _top_up, "book money that arrived at the bank into the wallet"),
        ("settle", _settle, "book money that was sent to the merchant's bank account out of the wallet"),
    ):
        act = add_subcommand(acts, name, command, f"{help_}; above an amount, another operator must approve it")
        act.add_argument("merchant", help="the merchant's id or name")
        act.add_argument("amount", help="whole shillings")
        act.add_argument("--reference", required=True, help="the bank's reference; one reference is booked only once")
        add_alone(act)
    add_subcommand(acts, "pending", _pending, "list top-ups and settlements that wait for another operator")
    add_decisions(acts, _decide, "top-up or settlement")


def add_decisions(acts: Any, decide: Decide, noun: str) -> None:
    """The commands that approve and reject what was proposed."""

    def approving(arguments: argparse.Namespace, settings: Settings) -> int:
        require_here(arguments, "/operator/bookings")
        return decide(arguments, settings, _approve, True)

    def rejecting(arguments: argparse.Namespace, settings: Settings) -> int:
        return decide(arguments, settings, _reject, False)

    approval = add_subcommand(
        acts, "approve", approving, f"approve a {noun} that another operator has proposed, and book it"
    )
    rejection = add_subcommand(acts, "reject", rejecting, f"reject a proposed {noun}, or take your own back")
    for each in (approval, rejection):
        each.add_argument("booking", help="the booking's reference or id")
    add_approval(approval)


def _approve(
    arguments: argparse.Namespace, settings: Settings, look: Callable[[Tx, ProposedBooking], Awaitable[Found]]
) -> Found:
    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> Found:
        approved = await booking_approval.approve(
            tx, arguments.booking.strip(), actor=actor, now=now, seen=seen, is_single_operator=arguments.alone
        )
        return await look(tx, approved)

    return approve(arguments, settings, lambda tx: booking_approval.lock_open(tx, arguments.booking.strip()), act)


def _reject(
    arguments: argparse.Namespace, settings: Settings, look: Callable[[Tx, ProposedBooking], Awaitable[Found]]
) -> Found:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Found:
        return await look(tx, await booking_approval.reject(tx, arguments.booking.strip(), actor=actor, now=now))

    return write(arguments, settings, act)


def _top_up(arguments: argparse.Namespace, settings: Settings) -> int:
    return _request(arguments, settings, BookingKind.TOP_UP)


def _settle(arguments: argparse.Namespace, settings: Settings) -> int:
    return _request(arguments, settings, BookingKind.SETTLEMENT)


def _request(arguments: argparse.Namespace, settings: Settings, kind: BookingKind) -> int:
    amount, reference = amount_of(arguments.amount), reference_of(arguments.reference)

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[BookingResult, Wallet]:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        requested = await booking_approval.request(
            tx,
            Booking(kind, merchant_id, amount, reference),
            approval_amount=(await with_limits(tx, settings)).booking_approval_amount,
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        )
        return requested, (await wallets.get(tx, merchant_id))[0]

    requested, wallet = write(arguments, settings, act)
    shown = {
        "merchantId": wallet.merchant_id,
        "kind": kind,
        "amount": amount,
        "reference": reference,
        "isNew": requested.is_new,
        "isProposed": requested.proposal is not None,
        "available": wallet.available,
    }
    return print_result(arguments, shown, f"{sentence_of(requested, amount, reference)} {_holds(wallet)}")


def sentence_of(requested: BookingResult, amount: int, reference: str) -> str:
    if requested.proposal is None:
        return (
            f"Booked {money.display(amount)}."
            if requested.is_new
            else f"{reference} was booked before; nothing has changed."
        )
    proposed = (
        f"Proposed {money.display(amount)}."
        if requested.is_new
        else f"{reference} was proposed before, by {requested.proposal.requested_by}; nothing has changed."
    )
    return f"{proposed} {APPROVE_AT}"


def _holds(wallet: Wallet) -> str:
    return f"The wallet holds {money.display(wallet.available)}."


def _pending(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.snapshot() as connection:
            found = await booking_approval.find_open(connection)
            names = await merchants.find_names(connection, [each.merchant_id for each in found])
            return [
                {
                    "id": each.id,
                    "reference": each.bank_reference,
                    "kind": _WORDS[BookingKind(each.kind)],
                    "merchant": each.merchant_id,
                    "name": names[each.merchant_id or ""],
                    "amount": each.amount,
                    "proposed by": each.requested_by,
                    "proposed at": each.requested_at,
                }
                for each in found
                if each.kind in _WORDS
            ]

    return print_table(
        arguments, with_database(settings, act), empty="No booking waits for an operator.", right=("amount",)
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decision, is_approval: bool) -> int:
    async def look(tx: Tx, proposal: ProposedBooking) -> tuple[ProposedBooking, Wallet]:
        if proposal.merchant_id is None or proposal.kind not in _WORDS:  # another booking: nothing of it is committed
            raise NotProposed(arguments.booking)
        return proposal, (await wallets.get(tx, proposal.merchant_id))[0]

    proposal, wallet = decide(arguments, settings, look)
    shown = {
        "id": proposal.id,
        "merchantId": proposal.merchant_id,
        "kind": proposal.kind,
        "amount": proposal.amount,
        "reference": proposal.bank_reference,
        "proposedBy": proposal.requested_by,
        "isBooked": is_approval,
        "available": wallet.available,
    }
    what = f"{_WORDS[BookingKind(proposal.kind)]} {proposal.bank_reference} of {money.display(proposal.amount)}"
    return print_result(arguments, shown, f"{word_of(is_approval)}: {what}. {_holds(wallet)}")


def word_of(is_approval: bool) -> str:
    return "Approved and booked" if is_approval else "Rejected"


def reference_of(text: str) -> str:
    reference = text.strip()
    if not 1 <= len(reference) <= 100 or not reference.isprintable():
        raise Invalid("--reference must be 1 to 100 printable characters.")
    return reference


def amount_of(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isascii() or not digits.isdigit() or not 1 <= int(digits) <= 10**15:
        raise Invalid(f"The amount must be a whole number of shillings, such as 250000, not {text!r}.")
    return int(digits)
