"""malipo approvals: all that waits for a second operator, whatever it is about."""

import argparse
from typing import Any

from malipo.approvals import store
from malipo.approvals.act_rules import Act
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.cli.approval_code import ShownProposal
from malipo.cli.command_table import COMMANDS
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.shown_proposals import find_shown
from malipo.dashboard.operator.proposal_pages import page_of
from malipo.db import Database
from malipo.errors import Missing
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    act = add_subcommand(commands, "approvals", _approvals, COMMANDS["approvals"].help)
    act.add_argument("id", nargs="?", help="show this one in full, as its approver must see it (default: list all)")


def _approvals(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[tuple[Proposal, ShownProposal]]:
        async with database.snapshot() as connection:
            found = await store.find_open(connection, list(Act))
            wanted = [each for each in found if arguments.id in (None, each.id)]
            limited = await with_limits(connection, settings)
            return [(each, await find_shown(connection, each, limited)) for each in wanted]

    found = sorted(with_database(settings, act), key=lambda each: each[0].requested_at)
    if arguments.id is not None:
        return _print_one(arguments, found)
    rows = [
        {
            "id": each.id,
            "act": each.action,
            "about": each.subject,
            "amount": each.amount,
            "proposed by": each.requested_by,
            "proposed at": each.requested_at,
            "reason": each.reason or None,
            "approved at": page_of(each),
            "seen": shown.code,
        }
        for each, shown in found
    ]
    return print_table(arguments, rows, empty="Nothing waits for a second operator.", right=("amount",))


def _print_one(arguments: argparse.Namespace, found: list[tuple[Proposal, ShownProposal]]) -> int:
    if not found:
        raise Missing(f"Nothing with the id {arguments.id!r} waits for a second operator. See: malipo approvals")
    [(proposal, shown)] = found
    whole = {"id": proposal.id, "act": proposal.action, **shown.terms, "changes": shown.changes, "seen": shown.code}
    lines = [*shown.lines, f"{'approved at:':<20} {page_of(proposal)}", f"{'seen:':<20} {shown.code}"]
    return print_result(arguments, whole, "\n".join(lines))
