"""malipo key …: API keys."""

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from malipo import clock, money
from malipo.approvals import key_approval
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_seen
from malipo.cli.authority import add_alone
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.merchants import issue_api_keys, onboard
from malipo.merchants.api_keys import (
    UNNAMED_PERMISSIONS,
    AddressRange,
    Environment,
    KeyTerms,
    NewKey,
    Permission,
    address_range_of,
)
from malipo.merchants.store import api_keys
from malipo.settings import Settings
from malipo.validation.fields import Fields
from malipo.validation.payout_limits import payout_limits_in


def add_commands(commands: Any) -> None:
    key = add_command(commands, "key")
    acts = key.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "list", _list, "list a merchant's keys").add_argument(
        "merchant", help="the merchant's id or name"
    )
    create = add_subcommand(acts, "create", _create, "create an API key; it is shown only once")
    create.add_argument("merchant", help="the merchant's id or name")
    create.add_argument("--name", default="API key", help="what the key is for (default: API key)")
    create.add_argument(
        "--permissions",
        default=",".join(UNNAMED_PERMISSIONS),
        metavar="LIST",
        help="its permissions, separated by commas (default: all but payouts.approve; payments.create is "
        "payments.collect and payments.disburse)",
    )
    create.add_argument(
        "--environment",
        choices=list(Environment),
        default=Environment.LIVE,
        help="the word in the key's prefix; both move real money (default: live)",
    )
    create.add_argument("--expires", metavar="DATE", help="the last day on which the key works, such as 2027-12-31")
    create.add_argument(
        "--ip", action="append", default=[], help="an address or network from which the key may be used; repeatable"
    )
    create.add_argument("--payout-limit", metavar="TZS", help="the highest amount of one payout (default: no limit)")
    create.add_argument(
        "--daily-payout-limit",
        metavar="TZS",
        help="the highest sum of payouts in a day, Dar es Salaam time (default: no limit)",
    )
    add_alone(create)
    approval = add_subcommand(acts, "approve", _approve, "create a key that another operator has proposed")
    rejection = add_subcommand(acts, "reject", _reject, "reject that proposal, or take your own back")
    for each in (approval, rejection):
        each.add_argument("merchant", help="the merchant's id or name")
    add_alone(approval)
    add_seen(approval)
    revoke = add_subcommand(acts, "revoke", _revoke, "revoke a key; it stops working at once")
    revoke.add_argument("merchant", help="the merchant's id or name")
    revoke.add_argument("key", help="the key's id")


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.begin() as tx:
            found = await api_keys.find_all(tx, await onboard.find_merchant(tx, arguments.merchant))
        return [
            {
                "id": each.id,
                "name": each.name,
                "key": f"{each.prefix}…{each.last4}",
                "permissions": each.permissions,
                "addresses": each.ip_allowlist,
                "expires": each.expires_at,
                "last used": each.last_used_at,
                "payout limit": each.payout_limit,
                "daily payout limit": each.daily_payout_limit,
            }
            for each in found
        ]

    found = with_database(settings, act, command=arguments.act)
    return print_table(arguments, found, empty="This merchant has no keys.")


def _create(arguments: argparse.Namespace, settings: Settings) -> int:
    permissions = _permissions(arguments.permissions)
    expires_at = _end_of(arguments.expires) if arguments.expires else None
    ip_allowlist = [_network(each) for each in arguments.ip]
    payout_limit, daily_payout_limit = _limits(arguments)
    fields = Fields({"name": arguments.name})
    name = fields.required_text("name", most=100, is_line=True)
    fields.check()

    terms = KeyTerms(
        name=name,
        permissions=tuple(permissions),
        environment=Environment(arguments.environment),
        brand=settings.key_prefix,
        expires_at=expires_at,
        ip_allowlist=tuple(str(each) for each in ip_allowlist),
        payout_limit=payout_limit,
        daily_payout_limit=daily_payout_limit,
    )

    async def act(tx: Tx, actor: Actor, now: datetime) -> NewKey | Proposal:
        return await key_approval.request(
            tx,
            await onboard.find_merchant(tx, arguments.merchant),
            terms,
            approval_amount=(await with_limits(tx, settings)).booking_approval_amount,
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        )

    result = write(arguments, settings, act)
    if isinstance(result, NewKey):
        return _print_done(arguments, result)
    merchant_id, amount = result.subject, result.amount
    shown = {"id": result.id, "merchantId": merchant_id, "name": name, "isProposed": True, "amount": amount}
    sentence = (
        f"Proposed: this key can pay out, {money.display(amount)} as the wallet is now. Another operator approves it, "
        f"and is shown the key: malipo key approve {merchant_id}. A person of the merchant can make one in the "
        "dashboard at once."
    )
    return print_result(arguments, shown, sentence)


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    async def find(tx: Tx) -> Proposal:
        return await key_approval.lock_open(tx, await onboard.find_merchant(tx, arguments.merchant))

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> NewKey:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        return await key_approval.approve(
            tx, merchant_id, actor=actor, now=now, seen=seen, is_single_operator=arguments.alone
        )

    return _print_done(arguments, approve(arguments, settings, find, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        return await key_approval.reject(tx, merchant_id, actor=actor, now=now)

    rejected = write(arguments, settings, act)
    return print_result(arguments, {"id": rejected.id, "approved": False}, "Rejected: no key was made.")


def _print_done(arguments: argparse.Namespace, key: NewKey) -> int:
    shown = {
        "id": key.id,
        "merchantId": key.merchant_id,
        "name": key.name,
        "key": key.text,
        "prefix": key.prefix,
        "last4": key.last4,
        "environment": key.environment,
        "permissions": key.permissions,
        "createdAt": clock.iso(key.created_at),
        "payoutLimit": key.payout_limit,
        "dailyPayoutLimit": key.daily_payout_limit,
    }
    sentence = f"{key.text}\n\nThis is the only time that the key is shown. It may: {', '.join(key.permissions)}."
    return print_result(arguments, shown, sentence)


def _revoke(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Any, actor: Any, now: Any) -> None:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        await issue_api_keys.revoke_key(tx, merchant_id, arguments.key, actor=actor, now=now)

    write(arguments, settings, act)
    return print_result(arguments, {"id": arguments.key, "isRevoked": True}, f"{arguments.key} is revoked.")


def _limits(arguments: argparse.Namespace) -> tuple[int | None, int | None]:
    """The limits as in the API. All mistakes are reported together."""
    typed = {"payoutLimit": arguments.payout_limit, "dailyPayoutLimit": arguments.daily_payout_limit}
    fields = Fields({name: int(text) if text and text.isdecimal() else text for name, text in typed.items()})
    limits = payout_limits_in(fields)
    if fields.problem is not None:
        raise Invalid(" ".join(message for each in (fields.problem.details or {}).values() for message in each))
    return limits


def _permissions(text: str) -> list[Permission]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in list(Permission)]
    if unknown or not names:
        what = f"There is no permission {unknown[0]!r}." if unknown else "A key needs a permission."
        raise Invalid(f"{what} There are: {', '.join(Permission)}.")
    return [permission for permission in Permission if permission in names]


def _end_of(day: str) -> datetime:
    try:
        end = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise Invalid(f"--expires must be a date such as 2027-12-31, not {day!r}.") from None
    if end <= clock.now():
        raise Invalid("--expires is in the past.")
    return end


def _network(text: str) -> AddressRange:
    try:
        return address_range_of(text)
    except ValueError:
        raise Invalid(f"--ip must be an address or a network such as 10.0.0.0/8, not {text!r}.") from None
