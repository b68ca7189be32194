"""malipo restore …: status, fence, release and reject, after a database was restored."""

import argparse
from datetime import date, datetime
from typing import Any

from malipo import typed_reason
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import ApproveOnPages
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.networks.connector import Channel, Type
from malipo.payments.after_restore import release, status
from malipo.payments.after_restore.fence import fence
from malipo.payments.after_restore.release import ReleaseResult, Scope
from malipo.payments.after_restore.status import RestoreStatus
from malipo.restore.store import installation
from malipo.settings import Settings
from malipo.settlement.release import find_waiting_days, is_account_missing

_SETTLEMENTS_WAIT = (
    "Settlements are not released. Import the bank's statements from {} to {}, of every account of ours: malipo bank "
    "import. Then two operators release them: malipo settlements release."
)
_ACCOUNT_IS_MISSING = (
    "No bank account of ours is known, and perhaps one was added in the lost time. First add the account that "
    "settlements are paid from: malipo bank add-account."
)
_TYPES = {"collections": Type.COLLECTION, "payouts": Type.DISBURSEMENT}


def add_commands(commands: Any) -> None:
    restore = add_command(commands, "restore")
    acts = restore.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "status", _status, "show whether the installation is fenced and why, and the open payments")
    act = add_subcommand(
        acts, "fence", _fence, "you know that the database was restored, and malipo has not noticed it"
    )
    act.add_argument("--reason", required=True, help="which backup was restored, and to which moment")
    act = add_subcommand(acts, "release", _release, "release sending; one operator proposes it, another approves it")
    act.add_argument("--evidence", required=True, help="what you compared: statements, the networks' portals")
    _add_scope(act)
    add_approval(act)

    _add_scope(add_subcommand(acts, "reject", _reject, "reject a proposed release, or take your own back"))


def _add_scope(act: Any) -> None:
    act.add_argument(
        "--channel", choices=[each.value for each in Channel], help="release only payments of this channel"
    )
    act.add_argument("--only", choices=list(_TYPES), help="only this channel's collections, or only its payouts")


def _scope_of(arguments: argparse.Namespace) -> Scope:
    if bool(arguments.channel) != bool(arguments.only):
        raise Invalid("--channel and --only go together.")
    return (arguments.channel, _TYPES[arguments.only]) if arguments.channel else None


def _status(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[RestoreStatus, tuple[date, date] | None, bool]:
        async with database.snapshot() as connection:
            days = await find_waiting_days(connection)
            return await status.find(connection), days, days is not None and await is_account_missing(connection)

    found, waiting_days, is_missing = with_database(settings, act)
    state = found.installation
    rows = [
        {
            "channel": each.channel,
            "type": each.type,
            "status": each.status,
            "asked first": each.is_asked_first,
            "needs a person": each.review_reason,
            "payments": each.payments,
            "amount": each.amount,
            "not asked yet": each.not_asked,
        }
        for each in found.open
    ]
    if arguments.json:
        shown = {
            "epoch": state.epoch,
            "epochBeganAt": state.epoch_began_at,
            "isFenced": state.is_fenced,
            "fenceReason": state.fence_reason,
            "isHeld": state.held_at is not None,
            "holdReason": state.hold_reason,
            "holds": [each._asdict() for each in found.holds],
            "open": rows,
            "settlementsWaitForStatementsOf": waiting_days and [each.isoformat() for each in waiting_days],
            "settlementsWaitForAnAccount": is_missing,
        }
        return print_result(arguments, shown, "")
    print(_sentence(found))
    if waiting_days is not None:
        print(_SETTLEMENTS_WAIT.format(*waiting_days))
    if is_missing:
        print(_ACCOUNT_IS_MISSING)
    return print_table(arguments, rows, empty="No payment is open.", right=("payments", "amount", "not asked yet"))


def _sentence(found: RestoreStatus) -> str:
    state = found.installation
    if state.is_fenced:
        words = f"Fenced since {state.fenced_at:%Y-%m-%d %H:%M:%S} UTC: {state.fence_reason}"
    elif state.epoch > 1:
        words = f"Released. It was last found to be restored at {state.epoch_began_at:%Y-%m-%d %H:%M:%S} UTC."
    else:
        words = "Never restored, and not fenced."
    held = [f"{each.channel} {each.type} held by {each.held_by}: {each.reason}" for each in found.holds]
    if state.held_at is not None:
        held.insert(0, f"Everything is held by {state.held_by}: {state.hold_reason}")
    return "\n".join([words, *held])


def _fence(arguments: argparse.Namespace, settings: Settings) -> int:
    reason = arguments.reason.strip()
    if not typed_reason.is_within(reason, typed_reason.REASON):
        raise Invalid("--reason says which backup was restored, in 3 to 500 characters.")

    async def act(tx: Tx, actor: Actor, now: datetime) -> int:
        epoch = (await installation.get(tx)).epoch
        return await fence(tx, reason, actor=actor, now=now, epoch=epoch)

    epoch = write(arguments, settings, act)
    return print_result(
        arguments, {"epoch": epoch}, "Fenced: nothing is sent until it is released. See malipo restore status."
    )


def _release(arguments: argparse.Namespace, settings: Settings) -> int:
    scope = _scope_of(arguments)

    async def find(tx: Tx) -> Proposal | None:
        if not arguments.here and not arguments.alone:
            return None  # It is proposed; or it is refused below, because it would be approved.
        return await release.find_release(tx, (await installation.lock(tx)).epoch, *(scope or (None, None)))

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> ReleaseResult:
        released = await release.release(
            tx,
            arguments.evidence.strip(),
            scope,
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
            seen=seen if arguments.here or arguments.alone else None,
        )
        if released.is_done and not arguments.alone and not arguments.here:
            raise ApproveOnPages("/operator/restore")  # It is rolled back.
        return released

    released = approve(arguments, settings, find, act)
    shown = {"isDone": released.is_done, "epoch": released.epoch, "payments": released.payments}
    return print_result(arguments, shown, _released(released, is_channel=scope is not None))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    scope = _scope_of(arguments)

    async def act(tx: Tx, actor: Actor, now: datetime) -> ReleaseResult:
        return await release.reject(tx, scope, actor=actor, now=now)

    rejected = write(arguments, settings, act)
    shown = {"isDone": rejected.is_done, "epoch": rejected.epoch}
    return print_result(arguments, shown, "Rejected: nothing is released. It can be proposed again.")


def _released(released: ReleaseResult, *, is_channel: bool) -> str:
    if not released.is_done:
        return "Proposed. Another operator must look at the evidence, and approve it at /operator/restore."
    if is_channel:
        payments = "1 payment" if released.payments == 1 else f"{released.payments:,} payments"
        return f"Released: {payments} that waited there may go."
    return "Released: sending begins. What was open goes when its network was asked; see malipo payments unsettled."
