"""A database of merchants with long histories, the first few of chosen sizes among hundreds of small ones."""

import asyncio
import http.client
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from benchmarks import database, measured_processes
from benchmarks.history import write
from benchmarks.load import CannotMeasure
from malipo.db.embedded import server

_SMALL_MERCHANTS = 300
_SMALL = 500  # payments of each

Say = Callable[[str], None]
Sizes = tuple[int, ...]


@contextmanager
def opened(sizes: Sizes, data: Path | None, say: Say) -> Iterator[str]:
    """Its URL. In `data`, if given, it stays for the next run."""
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as temporary:
        folder = data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        is_written = folder / f"{'-'.join(map(str, sizes))}-with-orders.written"
        with server(folder) as server_url:
            url = database.url_of(server_url, "bench")
            if not is_written.exists():
                asyncio.run(_write(server_url, sizes, say))
                is_written.touch()
            asyncio.run(_allow_reading(url))
            yield url


async def _write(server_url: str, sizes: Sizes, say: Say) -> None:
    count = len(sizes)
    url = await database.create(server_url, "bench", merchants=count + _SMALL_MERCHANTS)
    merchants = {database.merchant(number): size for number, size in enumerate(sizes, start=1)}
    merchants |= {database.merchant(count + number): _SMALL for number in range(1, _SMALL_MERCHANTS + 1)}
    say(f"writing {sum(merchants.values()):,} payments ...")
    began = time.monotonic()
    await write.write_all(url, merchants, first=0, has_orders=True)
    say(f"written in {time.monotonic() - began:,.0f} s; checking the ledger ...")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        await asyncio.to_thread(measured_processes.check_ledger, url, Path(folder))
    say(f"the ledger is clean ({time.monotonic() - began:,.0f} s)")


async def _allow_reading(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("UPDATE api_keys SET permissions = '{payments.create,payments.read,wallet.read}'")
    finally:
        await connection.close()


def key(merchant: int) -> str:
    return f"mlp_live_{merchant:040}"


def answer(connection: http.client.HTTPConnection, path: str, api_key: str) -> tuple[float, Any]:
    began = time.perf_counter()
    connection.request("GET", path, headers={"x-api-key": api_key})
    response = connection.getresponse()
    body = response.read()
    took = (time.perf_counter() - began) * 1000
    if response.status != 200:
        raise CannotMeasure(f"{path} answered {response.status}.")
    return took, msgspec.json.decode(body)
