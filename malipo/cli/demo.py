"""malipo demo: everything on one machine, with a merchant who has money, for somebody who has never seen it."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from malipo import clock, log, money
from malipo.api.server import serve as serve_api
from malipo.cli.serving import migrate_at
from malipo.cli.work import database_url
from malipo.db import Database
from malipo.ledger.book import Kind, book
from malipo.merchants import onboard, store
from malipo.merchants.keys import Environment, Permission, hash_of
from malipo.settings import Settings

_MERCHANT = "Demo Shop"
_MONEY = 5_000_000


def add_commands(commands: Any) -> None:
    demo = commands.add_parser("demo", help="run everything with a demo merchant (the default of ./run)")
    demo.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace, settings: Settings) -> int:
    began = time.monotonic()
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log_file = settings.data_dir / "malipo.log"
    with log_file.open("a") as lines, database_url(settings) as url:
        log.configure(level=settings.log_level, stream=lines)
        print("malipo: PostgreSQL is up", file=sys.stderr)
        uvloop.run(_run(settings, url, log_file, began))
    print("malipo: stopped", file=sys.stderr)
    return 0


async def _run(settings: Settings, url: str, log_file: Path, began: float) -> None:
    await migrate_at(url)
    key = await _demo_key(settings, url)
    base_url = f"http://{settings.host}:{settings.port}"

    def ready() -> None:
        _write(settings.data_dir / "demo.json", {"baseUrl": base_url, "apiKey": key})
        print(_welcome(base_url, key, log_file, time.monotonic() - began), flush=True)

    await serve_api(settings, url, on_ready=ready)


async def _demo_key(settings: Settings, url: str) -> str:
    """The key of an earlier start if it is still good, else a new one; on the first start, the merchant too."""
    database = Database(url, size=4)
    await database.open()
    now = clock.now()
    try:
        async with database.begin() as tx:
            known = await store.find_by_name(tx, _MERCHANT)
            merchant_id = known[0] if known else await onboard.create_merchant(tx, _MERCHANT, now=now)
            await book(tx, Kind.TOP_UP, merchant_id, _MONEY, reference="DEMO", now=now)
            text = _key_in(settings.data_dir / "demo.json")
            if text is not None:
                found = await store.find_keys(tx, [hash_of(text.encode())])
                if any(key.merchant_id == merchant_id and key.is_good(now) for key in found.values()):
                    return text
            key = await onboard.create_key(
                tx,
                merchant_id,
                name="Demo",
                permissions=list(Permission),
                environment=Environment.LIVE,
                brand=settings.key_prefix,
                now=now,
            )
            return key.text
    finally:
        await database.close()


def _key_in(path: Path) -> str | None:
    try:
        key = msgspec.json.decode(path.read_bytes())["apiKey"]
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None
    return key if isinstance(key, str) else None


def _write(path: Path, value: dict[str, str]) -> None:
    """Whole or not at all, and for nobody else's eyes."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(msgspec.json.format(msgspec.json.encode(value)) + b"\n")
    new.replace(path)


def _welcome(base_url: str, key: str, log_file: Path, seconds: float) -> str:
    return f"""
malipo is ready ({seconds:.1f} s).

  API       {base_url}
  API key   {key}
  Wallet    {money.display(_MONEY)} on the first start

Take a first payment:

  curl -s {base_url}/v1/payments \\
    -H 'x-api-key: {key}' \\
    -H 'content-type: application/json' \\
    -d '{{"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000100", "buyerName": "Asha"}}'

Log: {log_file}. Ctrl-C stops everything.
"""
