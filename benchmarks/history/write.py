"""Writes merchants' histories (see `generate.py`) into every table, as malipo would have left them.

The rows go in by COPY, in the order of their ids, from several processes; the index that searches need is made at the
end. Events are there for the last 90 days, as they are kept by default.
"""

import asyncio
import io
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import asyncpg

from benchmarks.history.generate import GeneratedPayment, History, Place
from malipo import clock
from malipo.ledger.accounts import Account
from malipo.ledger.statement import CATEGORIES as LINE_CELLS
from malipo.ledger.statement import KINDS
from malipo.ledger.statement import TREE as LINES
from malipo.networks.connector import Channel
from malipo.payments.rollups.categories import CATEGORIES, TREE
from malipo.payments.search.ngrams import ngrams_of
from malipo.payments.transaction import BEFORE_ORDER, Status, Type
from malipo.rollups.bucket_tree import TOP
from malipo.rollups.store import Rollup

_PART = 50_000
_EPOCH = date(1970, 1, 1).toordinal()
_ZONE_MS = 3 * 3_600_000  # Dar es Salaam, all year
_FEW = 20_000  # not worth a process

Connection = Any  # of asyncpg
Day = tuple[date, Type, Channel]
Begun = tuple[list["asyncio.Future[Part]"], Place]

_COLUMNS = {
    "transactions": "merchant_id id reference network_key type channel status amount fee phone name description "
    "metadata search_text failure_code failure_reason created_at processing_at ended_at order_reference",
    "moves": "merchant_id cause_id step move_number source target channel amount statement_line balance_after "
    "created_at",
    "events": "merchant_id id transaction_id event body created_at feed_number",
    "search_index": "merchant_id id search_text ngrams",
}


@dataclass
class Part:
    """What is to be added up: payments and lines in each cell of a leaf, and totals of a day, type and channel."""

    leaves: dict[int, Counter[int]] = field(default_factory=dict)
    lines: dict[int, Counter[int]] = field(default_factory=dict)
    days: dict[Day, Counter[str]] = field(default_factory=dict)
    first_event: int | None = None  # that is still there

    def add(self, made: GeneratedPayment) -> None:
        leaf = made.created_ms >> TREE.bits(0)
        self.leaves.setdefault(leaf, Counter())[CATEGORIES[made.channel, made.type, made.status]] += 1
        day = date.fromordinal(_EPOCH + (made.ended_ms + _ZONE_MS) // 86_400_000)
        total = self.days.setdefault((day, made.type, made.channel), Counter())
        total[made.status.lower()] += 1
        if made.status is Status.COMPLETED:
            total["amount"] += made.amount
            total["ms"] += made.ended_ms - made.created_ms


async def write(url: str, merchant_id: str, payments: int, *, first: int) -> None:
    """`first` is where the numbers in ids begin, so no two histories of one database may share them."""
    await write_all(url, {merchant_id: payments}, first=first)


async def write_all(url: str, sizes: Mapping[str, int], *, first: int, has_orders: bool = False) -> None:
    """With order references, if they are wanted, and an idempotency key for each of those."""
    end_ms = clock.milliseconds(clock.now())
    connection = await asyncpg.connect(url)
    processes = min(os.cpu_count() or 1, 4) + 1
    spawning = multiprocessing.get_context("spawn")
    try:
        index = await connection.fetchval("SELECT pg_get_indexdef('search_index_by_ngram'::regclass)")
        await connection.execute("DROP INDEX search_index_by_ngram")
        with ProcessPoolExecutor(processes, mp_context=spawning) as pool:
            begun: list[tuple[str, History, Begun]] = []
            for merchant_id, size in sizes.items():
                history = History(size, first=first, end_ms=end_ms, has_orders=has_orders)
                begun.append(
                    (merchant_id, history, await _begin(pool if size > _FEW else None, url, merchant_id, history))
                )
                first += size
            for merchant_id, history, (parts, end) in begun:
                await _write_sums(connection, merchant_id, history, await asyncio.gather(*parts), end)
        if has_orders:
            await connection.execute(
                """
                INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
                SELECT merchant_id, type, 'key-' || order_reference, sha256(id::bytea), id FROM transactions
                """,
                timeout=None,
            )
        await connection.execute("SET maintenance_work_mem = '1GB'")
        await connection.execute(index)
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


async def _begin(pool: ProcessPoolExecutor | None, url: str, merchant_id: str, history: History) -> "Begun":
    """The parts of a history that are being written, and where in the book it ends. Without a pool they are written."""
    parts: list[asyncio.Future[Part]] = []
    begin, place = 0, Place(0, 0, 0)
    for end, next_place in history.places(_PART):
        if end:
            task = Task(url, merchant_id, history, begin, end, place)
            if pool is None:
                parts.append(asyncio.ensure_future(write_part(task)))
                await parts[-1]
            else:
                parts.append(asyncio.get_running_loop().run_in_executor(pool, _write_part_apart, task))
        begin, place = end, next_place
    return parts, place


async def _write_sums(
    connection: Connection, merchant_id: str, history: History, parts: Sequence[Part], end: Place
) -> None:
    """What malipo keeps beside the payments: the wallet, the feed, totals by day, and the counts."""
    first_event = next((part.first_event for part in parts if part.first_event), end.events + 1)
    pruned_before = _moment(history.created_ms(history.kept_from) + 10_000) if first_event > 1 else None
    await connection.execute(
        "UPDATE wallets SET available = $2, statement_lines = $3, updated_at = now() WHERE merchant_id = $1",
        merchant_id,
        end.balance,
        end.line,
    )
    feed = (merchant_id, end.events, first_event - 1, pruned_before)
    await connection.execute(
        "INSERT INTO feeds (merchant_id, last_number, pruned_to, pruned_before) VALUES ($1, $2, $3, $4)", *feed
    )
    for rollup, position in ((Rollup.PAYMENTS, end.events), (Rollup.STATEMENT, end.line)):
        await connection.execute("INSERT INTO rollup_positions VALUES ($1, $2, $3)", merchant_id, rollup, position)
    days = _added_up(part.days for part in parts)
    await connection.copy_records_to_table(
        "daily_totals", records=[_daily_total(merchant_id, day, total) for day, total in days.items()]
    )
    await _write_counts(connection, merchant_id, Rollup.PAYMENTS, _added_up(part.leaves for part in parts))
    await _write_counts(connection, merchant_id, Rollup.STATEMENT, _added_up(part.lines for part in parts))


async def _write_counts(
    connection: Connection, merchant_id: str, rollup: Rollup, leaves: Mapping[int, Counter[int]]
) -> None:
    for level in range(TOP + 1):
        buckets = _added_up({leaf >> 5 * level: counts} for leaf, counts in leaves.items())
        rows = (
            (merchant_id, rollup, level, bucket, [counts[cell] for cell in range(1, max(counts) + 1)])
            for bucket, counts in buckets.items()
        )
        await connection.copy_records_to_table("rollup_counts", records=rows)


def _added_up(parts: Iterable[Mapping[Any, Counter[Any]]]) -> dict[Any, Counter[Any]]:
    whole: dict[Any, Counter[Any]] = {}
    for part in parts:
        for key, counts in part.items():
            whole.setdefault(key, Counter()).update(counts)
    return whole


def _daily_total(merchant_id: str, day: Day, total: Counter[str]) -> tuple[Any, ...]:
    counts = (total[name] for name in ("completed", "failed", "cancelled", "amount"))
    return merchant_id, *day, *counts, 0, total["ms"] / 1000


def _moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


@dataclass(frozen=True)
class Task:
    """A part of a history: from one payment to before another, and where in the book it begins."""

    url: str
    merchant_id: str
    history: History
    begin: int
    end: int
    place: Place


def _write_part_apart(task: Task) -> Part:
    return asyncio.run(write_part(task))


async def write_part(task: Task) -> Part:
    part = Part()
    rows: dict[str, list[str]] = {table: [] for table in _COLUMNS}
    balance, line, number = task.place
    for n in range(task.begin, task.end):
        made = task.history.payment(n)
        rows["transactions"].append(_transaction(task.merchant_id, made))
        rows["search_index"].append(_search(task.merchant_id, made))
        for move in _moves(made):
            balance, line = _add_move(rows["moves"], task.merchant_id, made, move, balance, line)
            if move.change:
                kind = KINDS[Account(move.source), Account(move.target)]
                part.lines.setdefault(line >> LINES.bits(0), Counter())[LINE_CELLS[kind]] += 1
        for event, ms in _events(made):
            number += 1
            if n >= task.history.kept_from:
                part.first_event = part.first_event or number
                rows["events"].append(_event(task.merchant_id, made, event, ms, number))
        part.add(made)
    connection = await asyncpg.connect(task.url)
    try:
        for table, columns in _COLUMNS.items():
            text = "".join(rows.pop(table)).encode()
            await connection.copy_to_table(table, source=io.BytesIO(text), columns=columns.split())
    finally:
        await connection.close()
    return part


def _transaction(merchant_id: str, made: GeneratedPayment) -> str:
    failure = "DECLINED\tThe customer declined the payment." if made.status is Status.FAILED else "\\N\t\\N"
    created_at, order = _iso(made.created_ms), made.order or "\\N"
    processing_at = "\\N" if made.status is Status.CANCELLED else created_at
    return (
        f"{merchant_id}\t{made.id}\tMLP-{made.suffix}\t{made.suffix}\t{made.type}\t{made.channel}\t{made.status}\t"
        f"{made.amount}\t0\t{made.phone}\t{made.name}\tSukari kilo mbili\t{{}}\t{_searchable(made)}\t{failure}\t"
        f"{created_at}\t{processing_at}\t{_iso(made.ended_ms)}\t{order}\n"
    )


def _searchable(made: GeneratedPayment) -> str:
    """In COPY's words, where a new line is written as two characters."""
    lines = f"mlp-{made.suffix.lower()}\\n{made.phone}\\n{made.name.lower()}"
    return lines if made.order is None else f"{lines}{BEFORE_ORDER}{made.order}"


def _search(merchant_id: str, made: GeneratedPayment) -> str:
    search_text = _searchable(made)
    windows = str(ngrams_of(merchant_id, search_text.replace("\\n", "\n")))[1:-1]
    return f"{merchant_id}\t{made.id}\t{search_text}\t{{{windows}}}\n"


class _Move(NamedTuple):
    step: str
    source: str
    target: str
    change: int  # in the wallet


def _moves(made: GeneratedPayment) -> list[_Move]:
    if made.type is Type.COLLECTION:
        return [_Move("end", "float", "wallet", made.amount)] if made.status is Status.COMPLETED else []
    opened = _Move("open", "wallet", "in_flight", -made.amount)
    if made.status is Status.COMPLETED:
        return [opened, _Move("end", "in_flight", "float", 0)]
    return [opened, _Move("end", "in_flight", "wallet", made.amount)]


def _add_move(
    rows: list[str], merchant_id: str, made: GeneratedPayment, move: _Move, balance: int, line: int
) -> tuple[int, int]:
    step, source, target, change = move
    place = "\\N\t\\N"
    if change:
        balance, line = balance + change, line + 1
        place = f"{line}\t{balance}"
    channel = made.channel if "float" in (source, target) else "\\N"
    at = _iso(made.created_ms if step == "open" else made.ended_ms)
    rows.append(f"{merchant_id}\t{made.id}\t{step}\t1\t{source}\t{target}\t{channel}\t{made.amount}\t{place}\t{at}\n")
    return balance, line


def _events(made: GeneratedPayment) -> list[tuple[str, int]]:
    if made.type is Type.COLLECTION:
        return [("payment.pending", made.created_ms), (f"payment.{made.status.lower()}", made.ended_ms)]
    return [(f"payout.{made.status.lower()}", made.ended_ms)]


def _event(merchant_id: str, made: GeneratedPayment, event: str, ms: int, number: int) -> str:
    body = (
        f'{{"event":"{event}","transaction":{{"id":"{made.id}","reference":"MLP-{made.suffix}","type":"{made.type}",'
        f'"status":"{made.status}","channel":"{made.channel}","amount":{made.amount},"fee":0,"currency":"TZS"}}}}'
    )
    id_ = f"evt_{made.id[4:14]}{'end' if ms == made.ended_ms else 'beg'}{made.id[17:]}"
    return f"{merchant_id}\t{id_}\t{made.id}\t{event}\t{body}\t{_iso(ms)}\t{number}\n"


def _iso(ms: int) -> str:
    return f"{_second(ms // 1000)}.{ms % 1000:03}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
