"""malipo tariff …: fees of a merchant."""

import argparse
import re
from typing import Any

from malipo.cli.command_table import add_command
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database
from malipo.errors import Invalid
from malipo.merchants import onboard
from malipo.networks.connector import Channel
from malipo.payments import fees
from malipo.payments.fees import Band
from malipo.payments.set_tariff import set_tariff
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from malipo.settings import Settings

_BAND = re.compile(r"([0-9]{1,15}):([0-9]{1,15}):([0-9]{1,5})(?::([0-9]{1,15})(?::([0-9]{1,15}))?)?")
_BAND_HELP = "FROM:FIXED:BASIS_POINTS[:LEAST[:MOST]], in shillings; repeatable; no band is no fee"


def add_commands(commands: Any) -> None:
    tariff = add_command(commands, "tariff")
    acts = tariff.add_subparsers(title="acts", metavar="ACT", required=True)
    show = add_subcommand(acts, "show", _show, "show a merchant's tariff")
    show.add_argument("merchant", help="the merchant's id or name")
    set_ = add_subcommand(acts, "set", _set, "replace a merchant's tariff for one type, and one channel or all")
    set_.add_argument("merchant", help="the merchant's id or name")
    set_.add_argument("--type", choices=list(Type), required=True)
    set_.add_argument("--channel", choices=[*Channel, "all"], default="all", help="only this channel (default: all)")
    set_.add_argument("--band", action="append", default=[], metavar="BAND", help=_BAND_HELP)


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.begin() as tx:
            found = await tariffs.find(tx, [await onboard.find_merchant(tx, arguments.merchant)])
        return [
            {
                "type": type_,
                "channel": channel,
                "from": band.from_amount,
                "fixed": band.fixed_fee,
                "basis points": band.basis_points,
                "least": band.min_fee,
                "most": band.max_fee,
            }
            for (_, type_, channel), bands in sorted(found.items())
            for band in sorted(bands, key=lambda each: each.from_amount)
        ]

    numbers = ("from", "fixed", "basis points", "least", "most")
    return print_table(arguments, with_database(settings, act), empty="No tariff: every fee is 0.", right=numbers)


def _set(arguments: argparse.Namespace, settings: Settings) -> int:
    bands = [_band(text) for text in arguments.band]
    fees.check(bands)
    channels = list(Channel) if arguments.channel == "all" else [Channel(arguments.channel)]

    async def act(tx: Any, actor: Any, now: Any) -> str:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        await set_tariff(tx, merchant_id, Type(arguments.type), channels, bands, actor=actor, now=now)
        return merchant_id

    merchant_id = write(arguments, settings, act)
    shown_bands = [
        {
            "from_amount": each.from_amount,
            "fixed": each.fixed_fee,
            "basis_points": each.basis_points,
            "least": each.min_fee,
            "most": each.max_fee,
        }
        for each in bands
    ]
    shown = {"merchantId": merchant_id, "type": arguments.type, "channels": channels, "bands": shown_bands}
    what = {0: "no fee", 1: "1 band"}.get(len(bands), f"{len(bands)} bands")
    return print_result(
        arguments, shown, f"{arguments.type} over {', '.join(channels)}: {what} from the next payment on."
    )


def _band(text: str) -> Band:
    match = _BAND.fullmatch(text)
    if match is None:
        raise Invalid(f"--band must be FROM:FIXED:BASIS_POINTS[:LEAST[:MOST]], such as 500:0:150:300, not {text!r}.")
    from_amount, fixed, basis_points, least, most = (None if part is None else int(part) for part in match.groups())
    assert from_amount is not None
    assert fixed is not None
    assert basis_points is not None
    return Band(from_amount, fixed, basis_points, least or 0, most)
