"""malipo payments …: payments that need an operator."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.cli.work import add_act, cell, tell, tell_table, with_database, write
from malipo.db import Database, Tx
from malipo.errors import Forbidden
from malipo.payments import resolve, why
from malipo.payments.resolve import Finding, NoSuchCase, Resolved, Truth
from malipo.payments.store import cases, hearings
from malipo.payments.store.cases import Case, Proposal
from malipo.payments.store.hearings import Hearing
from malipo.settings import Settings
from malipo.trail.store import Actor

_WHY = {
    "not_found": "the network does not know it, and it must not be sent again",
    "forgotten": "the network had it, and now does not know it",
    "differs": "the network speaks of another amount or phone",
    "unsent": "the network spoke of it before it was sent",
    "unheard": "its answer was not heard, and the network cannot be asked",
    "now_unpaid": "contradicted: the network now says that it was not paid",
    "now_paid": "contradicted: the network now says that it was paid",
    "doubted": "proposed as {proposed}: another operator must approve or reject it",
    "late": "takes too long",
}


def add_commands(commands: Any) -> None:
    payments = commands.add_parser("payments", help="payments that need an operator")
    acts = payments.add_subparsers(title="acts", metavar="ACT", required=True)
    add_act(acts, "unsettled", _unsettled, "payments whose end is not known, or that a network has contradicted")
    show = add_act(acts, "show", _show, "everything that was heard of one of them")
    show.add_argument("payment", help="its id or reference")
    propose = add_act(
        acts, "resolve", _resolve, "say what became of one; of a payout, another operator must approve it"
    )
    propose.add_argument("payment", help="its id or reference")
    truth = propose.add_mutually_exclusive_group(required=True)
    truth.add_argument("--completed", dest="truth", action="store_const", const=Truth.COMPLETED, help="the money moved")
    truth.add_argument("--failed", dest="truth", action="store_const", const=Truth.FAILED, help="it did not")
    propose.add_argument("--evidence", required=True, help="how you know: what the network's statement or staff say")
    propose.add_argument("--provider-reference", help="the network's receipt")
    approve = add_act(acts, "approve", _approve, "approve what another operator has proposed")
    approve.add_argument("payment", help="its id or reference")
    reject = add_act(acts, "reject", _reject, "reject a proposal, or take your own back")
    reject.add_argument("payment", help="its id or reference")


def _unsettled(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.snapshot() as connection:
            open_ = await cases.find_unsettled(connection, unsettled_seconds=settings.unsettled_seconds)
            contradicted = await cases.find_contradicted(connection)
        return [_row(case, settings) for case in [*open_, *contradicted]]

    return tell_table(
        arguments,
        with_database(settings, act),
        empty="Every payment is settled, or its network has it in hand.",
        right=("amount",),
    )


def _row(case: Case, settings: Settings) -> dict[str, Any]:
    transaction = case.transaction
    return {
        "payment": transaction.id,
        "reference": transaction.reference,
        "type": transaction.type,
        "channel": transaction.channel,
        "status": transaction.status,
        "amount": transaction.amount,
        "since": transaction.processing_at or transaction.created_at,
        "why": _why(case, settings),
        "proposed": case.proposed,
    }


def _why(case: Case, settings: Settings) -> str | None:
    """Why an operator should look; nothing, if there is no reason to."""
    word = why.reason(case, unsettled_seconds=settings.unsettled_seconds, now=clock.now())
    return _WHY[word].format(proposed=case.proposed) if word in _WHY else None


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[Case, Proposal | None, list[Hearing]]:
        async with database.begin() as tx:
            case = await cases.lock(tx, arguments.payment)
            if case is None:
                raise NoSuchCase(arguments.payment)
            proposal = await cases.find_proposal(tx, case.transaction)
            return case, proposal, await hearings.find(tx, case.transaction.merchant_id, case.transaction.id)

    case, proposal, heard = with_database(settings, act)
    rows = [
        {
            "at": each.at,
            "network": each.route,
            "by": each.act,
            "verdict": each.verdict,
            "code": each.code,
            "words": each.detail,
        }
        for each in heard
    ]
    if arguments.json:
        return tell(
            arguments, {**_row(case, settings), **_parties(case), "proposal": _proposed(proposal), "heard": rows}, ""
        )
    for name, value in {**_row(case, settings), **_parties(case), **(_proposed(proposal) or {})}.items():
        if value is not None:
            shown = money.display(value) if name == "amount" else cell(value)
            print(f"{name + ':':<20} {shown}")
    print()
    return tell_table(arguments, rows, empty="Nothing was heard of it yet.")


def _parties(case: Case) -> dict[str, Any]:
    return {"merchant": case.transaction.merchant_id, "phone": case.transaction.phone, "name": case.transaction.name}


def _proposed(proposal: Proposal | None) -> dict[str, Any] | None:
    """What a second operator must see before they agree."""
    if proposal is None:
        return None
    return {
        "proposed": proposal.outcome,
        "proposed by": proposal.proposed_by,
        "proposed at": proposal.proposed_at,
        "evidence": proposal.evidence,
        "provider reference": proposal.provider_reference,
    }


def _resolve(arguments: argparse.Namespace, settings: Settings) -> int:
    finding = Finding(arguments.truth, arguments.evidence.strip(), arguments.provider_reference)

    async def act(tx: Tx, actor: Actor, now: datetime) -> Resolved:
        return await resolve.propose(tx, arguments.payment, finding, actor=_operator(actor, settings), now=now)

    return _tell(arguments, write(settings, act))


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Resolved:
        return await resolve.approve(tx, arguments.payment, actor=_operator(actor, settings), now=now)

    return _tell(arguments, write(settings, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Resolved:
        return await resolve.reject(tx, arguments.payment, actor=_operator(actor, settings), now=now)

    resolved = write(settings, act)
    transaction = resolved.transaction
    what = f"{transaction.reference}, {money.display(transaction.amount)}, is still {transaction.status}"
    return tell(arguments, _shown(resolved), f"Rejected: {what}.")


def _operator(actor: Actor, settings: Settings) -> Actor:
    """Only somebody with a name may say what became of money."""
    if settings.operator is None:
        raise Forbidden("This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add).")
    return actor


def _tell(arguments: argparse.Namespace, resolved: Resolved) -> int:
    return tell(arguments, _shown(resolved), _sentence(resolved))


def _sentence(resolved: Resolved) -> str:
    transaction = resolved.transaction
    what = f"{transaction.reference}, {money.display(transaction.amount)}"
    if not resolved.is_done:
        return (
            f"Proposed: {what}, {resolved.truth}. Another operator must look at the evidence "
            f"(malipo payments show {transaction.reference}), then: malipo payments approve {transaction.reference}"
        )
    if resolved.is_of_contradiction:
        return (
            f"Resolved as {resolved.truth}: {what}. Suspense is cleared; the merchant still sees {transaction.status}."
        )
    return f"Resolved: {what}, is {transaction.status}."


def _shown(resolved: Resolved) -> dict[str, Any]:
    transaction = resolved.transaction
    return {
        "payment": transaction.id,
        "reference": transaction.reference,
        "status": transaction.status,
        "outcome": resolved.truth,
        "isDone": resolved.is_done,
        "endedAt": clock.iso(transaction.ended_at) if transaction.ended_at else None,
    }
