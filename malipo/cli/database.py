"""The database of a command: opened, and changed in one commit in the name of the operator who runs the command."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from malipo import log
from malipo.accounts.reauthentication import SensitiveAct
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli import reauthentication
from malipo.cli.actor import find_actor
from malipo.cli.approval_code import ShownProposal, agreed
from malipo.cli.authority import AUTHORITY, TOLD_OF_FENCE, needs_of, right_of
from malipo.cli.database_url import database_url
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.db.schema import require_served
from malipo.restore.store import installation
from malipo.settings import Settings

Done = TypeVar("Done")


def with_database(settings: Settings, act: Callable[[Database], Awaitable[Done]], *, command: str = "") -> Done:
    """Do something with a database whose schema this version can serve. A command never migrates: it may be given on a
    standby, or by a role that may only read. Commands in TOLD_OF_FENCE first say if nothing is sent."""
    # People read what a command prints; only what is wrong goes to the log.
    log.configure(level="warning", stream=sys.stderr)

    async def work(url: str) -> Done:
        async with Database.opened(url, size=4) as database:
            await require_served(database)
            if command in TOLD_OF_FENCE:
                await _warn_if_closed(database)
            return await act(database)

    with database_url(settings) as url:
        return asyncio.run(work(url))


async def _warn_if_closed(database: Database) -> None:
    """Say that nothing is sent (fence or hold), and why."""
    async with database.read() as connection:
        state = await installation.get(connection)
    if state.is_fenced:
        print(
            f"malipo: FENCED, nothing is sent: {state.fence_reason} API keys that were revoked since the backup are "
            "back: revoke them again. See: malipo restore status",
            file=sys.stderr,
        )
    elif state.held_at is not None:
        print(f"malipo: ON HOLD by {state.held_by}, nothing is sent: {state.hold_reason}", file=sys.stderr)


def write(
    arguments: argparse.Namespace, settings: Settings, act: Callable[[Tx, Actor, datetime], Awaitable[Done]]
) -> Done:
    """Change the database in one commit, as the actor who may give this command. `now` is the database's time."""
    return _change(arguments, settings, None, lambda tx, actor, now, _: act(tx, actor, now))


def approve(
    arguments: argparse.Namespace,
    settings: Settings,
    find: Callable[[Tx], Awaitable[Proposal | None]],
    act: Callable[[Tx, Actor, datetime, str], Awaitable[Done]],
) -> Done:
    """Approve in a transaction what another operator has proposed. The proposal is shown first; `act` gets the code of
    what was shown, which is empty if nothing is proposed."""
    from malipo.cli.shown_proposals import find_shown  # Half of malipo, and most commands approve nothing.

    async def show(tx: Tx) -> ShownProposal | None:
        proposal = await find(tx)
        limited = await with_limits(tx, settings)
        return None if proposal is None else await find_shown(tx, proposal, limited)

    return _change(arguments, settings, show, act)


def approve_shown(
    arguments: argparse.Namespace,
    settings: Settings,
    show: Callable[[Tx], Awaitable[ShownProposal | None]],
    act: Callable[[Tx, Actor, datetime, str], Awaitable[Done]],
) -> Done:
    """Approve something that is shown first and is no proposal."""
    return _change(arguments, settings, show, act)


def _change(
    arguments: argparse.Namespace,
    settings: Settings,
    show: Callable[[Tx], Awaitable[ShownProposal | None]] | None,
    act: Callable[[Tx, Actor, datetime, str], Awaitable[Done]],
) -> Done:
    authority, right = AUTHORITY[arguments.act], right_of(arguments.act)

    async def work(database: Database) -> Done:
        needed = await _prove(arguments, settings, database)
        seen = ""
        if show is not None:
            async with database.begin() as tx:
                await find_actor(tx, settings, authority, now=await database_now(tx), right=right)
                shown = await show(tx)
            if shown is not None:
                seen = agreed(arguments, shown)
                # The operator may have thought about it for an hour, or have left the terminal to somebody else.
                await _prove(arguments, settings, database)
        async with database.begin() as tx:
            now = await database_now(tx)
            actor = await find_actor(tx, settings, authority, now=now, right=right)
            if needed is not None:
                await reauthentication.require_recent(tx, needed, settings, now=now)
            return await act(tx, actor, now, seen)

    return with_database(settings, work, command=arguments.act)


def prove(arguments: argparse.Namespace, settings: Settings) -> None:
    """Check that the operator may give this command, before it does anything outside of the database."""

    async def work(database: Database) -> None:
        async with database.begin() as tx:
            now, right = await database_now(tx), right_of(arguments.act)
            await find_actor(tx, settings, AUTHORITY[arguments.act], now=now, right=right)
        await _prove(arguments, settings, database)

    with_database(settings, work)


async def _prove(arguments: argparse.Namespace, settings: Settings, database: Database) -> SensitiveAct | None:
    """Ask for the password, if this command needs it and it was not typed in the last minutes. What it needs."""
    if (needed := needs_of(arguments)) is not None:
        await reauthentication.confirm(arguments, needed, database, settings)
    return needed
