"""malipo approvals: all that waits for a second operator, whatever it is about."""

import argparse
from typing import Any

from malipo.approvals import store
from malipo.approvals.acts import Act
from malipo.approvals.store import Proposal
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, tell_table
from malipo.dashboard.operator.proposal_pages import page_of
from malipo.db import Database
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    add_subcommand(commands, "approvals", _approvals, "all that waits for a second operator, the oldest first")


def _approvals(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[Proposal]:
        async with database.read() as connection:
            return await store.find_open(connection, list(Act))

    found = sorted(with_database(settings, act), key=lambda each: each.requested_at)
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
        }
        for each in found
    ]
    return tell_table(arguments, rows, empty="Nothing waits for a second operator.", right=("amount",))
