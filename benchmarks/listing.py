"""`bench list`: whether the list of transactions is slower for a merchant with a long history.

Merchants of 100 thousand, 1 million and 10 million payments among hundreds of small ones, on one database. Each
question is asked over HTTP by turns, and what counts is the time until its answer is there. Beside it, for the largest,
the conventional way: PostgreSQL counts with `count(*)` and goes to the page with `OFFSET`.
"""

import asyncio
import http.client
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import asyncpg

from benchmarks import database, measured_processes
from benchmarks.history import history_database
from benchmarks.history.generate import RARE_NAME
from benchmarks.load import CannotMeasure
from malipo import clock
from malipo.db.where_clause import Conditions
from malipo.networks.connector import Channel
from malipo.payments.listing.filters import TransactionFilter, where_of
from malipo.payments.transaction import Status, Type

_PER_PAGE = 20
_PLAIN_ROUNDS = 3

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    sizes: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    rounds: int = 40
    data: Path | None = None  # where the data stays for the next run


QUICK = Plan(sizes=(1_000, 10_000, 100_000), rounds=20)


@dataclass(frozen=True)
class Question:
    """A page of the list; or, with a name, one transaction."""

    filter: TransactionFilter = TransactionFilter()
    page: int = 1
    is_full: bool = False
    name: str | None = None

    @property
    def path(self) -> str:
        if self.name:
            return f"/v1/payments/{self.name}"
        wanted = self.filter
        query = {
            "status": ",".join(wanted.statuses),
            "type": wanted.type,
            "channel": wanted.channel,
            "from": wanted.first and clock.iso(wanted.first),
            "to": wanted.last and clock.iso(wanted.last),
            "search": wanted.search,
            "orderReference": wanted.order_reference,
            "idempotencyKey": wanted.idempotency_key,
            "before": wanted.before,
            "view": "full" if self.is_full else None,
            "page": self.page if self.page > 1 else None,
        }
        return "/v1/payments?" + urlencode({name: value for name, value in query.items() if value})


def _questions(some: asyncpg.Record) -> dict[str, Question]:
    """About a merchant, of whom we know one payment from the middle of the year."""
    middle: datetime = some["created_at"]
    month = TransactionFilter(first=middle - timedelta(days=15), last=middle + timedelta(days=15))
    return {
        "newest": Question(),
        "page 1,000": Question(page=1000),
        "completed": Question(TransactionFilter(statuses=(Status.COMPLETED,))),
        "payouts, M-Pesa": Question(TransactionFilter(type=Type.DISBURSEMENT, channel=Channel.MPESA)),
        "failed payouts, HaloPesa": Question(
            TransactionFilter(type=Type.DISBURSEMENT, channel=Channel.HALOPESA, statuses=(Status.FAILED,))
        ),
        "completed, page 1,000": Question(TransactionFilter(statuses=(Status.COMPLETED,)), page=1000),
        "failed or cancelled": Question(TransactionFilter(statuses=(Status.FAILED, Status.CANCELLED))),
        "before one of the middle": Question(TransactionFilter(before=some["id"])),
        "failed payouts, before it": Question(
            TransactionFilter(type=Type.DISBURSEMENT, statuses=(Status.FAILED,), before=some["id"])
        ),
        "newest, in full": Question(is_full=True),
        "order reference": Question(TransactionFilter(order_reference=some["order_reference"])),
        "idempotency key": Question(TransactionFilter(idempotency_key=f"key-{some['order_reference']}")),
        "a month": Question(month),
        "a month, failed": Question(replace(month, statuses=(Status.FAILED,))),
        "search: reference": Question(TransactionFilter(search=some["reference"])),
        "search: end of reference": Question(TransactionFilter(search=some["reference"][-6:])),
        "search: phone": Question(TransactionFilter(search=some["phone"])),
        "search: end of phone": Question(TransactionFilter(search=some["phone"][-6:])),
        "search: order reference": Question(TransactionFilter(search=some["order_reference"])),
        "search: end of order": Question(TransactionFilter(search=some["order_reference"][-7:])),
        "search: rare name": Question(TransactionFilter(search=RARE_NAME)),
        "one, by id": Question(name=some["id"]),
        "one, by reference": Question(name=some["reference"]),
    }


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    times: dict[str, dict[int, list[float]]]  # of each question, for each size: milliseconds
    totals: dict[str, int]  # of each question, for the largest
    plain: dict[str, float]  # of each question, for the largest: milliseconds of the conventional way

    def ms(self, question: str, size: int) -> float:
        return median(self.times[question][size])

    def ratio(self, question: str) -> float:
        return self.ms(question, self.plan.sizes[-1]) / self.ms(question, self.plan.sizes[0])

    def vs_plain(self, question: str) -> float | None:
        return self.plain[question] / self.ms(question, self.plan.sizes[-1]) if question in self.plain else None


def measure(plan: Plan, say: Say) -> Report:
    with (
        tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder,
        history_database.opened(plan.sizes, plan.data, say) as url,
    ):
        merchants = {size: database.merchant(number) for number, size in enumerate(plan.sizes, start=1)}
        questions = {size: _questions(asyncio.run(_middle(url, merchants[size]))) for size in plan.sizes}
        with measured_processes.malipo(url, Path(folder)) as running:
            busy = measured_processes.busy_percent()
            say(f"asking {len(questions[plan.sizes[0]])} questions of {len(plan.sizes)} merchants ...")
            times = _ask(plan, running.port, questions)
            say("the conventional way ...")
            totals, plain = asyncio.run(_plain(url, running.port, plan, questions[plan.sizes[-1]]))
        return Report(plan, asyncio.run(database.version(url)), busy, times, totals, plain)


async def _middle(url: str, merchant_id: str) -> asyncpg.Record:
    connection = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(
            """
            SELECT t.id, t.reference, t.phone, t.created_at, t.order_reference
            FROM moves m JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
            WHERE m.merchant_id = $1
              AND m.statement_line = (SELECT statement_lines / 2 FROM wallets WHERE merchant_id = $1)
            """,
            merchant_id,
        )
        assert row is not None
        return row
    finally:
        await connection.close()


def _ask(plan: Plan, port: int, questions: dict[int, dict[str, Question]]) -> dict[str, dict[int, list[float]]]:
    names = questions[plan.sizes[0]]
    times: dict[str, dict[int, list[float]]] = {name: {size: [] for size in plan.sizes} for name in names}
    keys = {size: history_database.key(number) for number, size in enumerate(plan.sizes, start=1)}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for round_ in range(plan.rounds + 1):
        for name in names:
            for size in plan.sizes:
                took, _ = history_database.answer(connection, questions[size][name].path, keys[size])
                if round_:  # The first round warms up.
                    times[name][size].append(took)
    connection.close()
    return times


def _where(merchant_id: str, wanted: TransactionFilter) -> Conditions:
    where = where_of(merchant_id, wanted)
    where.add(
        "t.id IN (SELECT k.transaction_id FROM idempotency_keys k WHERE k.merchant_id = t.merchant_id AND k.key = {})",
        wanted.idempotency_key,
    )
    return where


async def _plain(
    url: str, port: int, plan: Plan, questions: dict[str, Question]
) -> tuple[dict[str, int], dict[str, float]]:
    """What the conventional way takes; and the totals, which must be the same."""
    merchant_id, key = database.merchant(len(plan.sizes)), history_database.key(len(plan.sizes))
    totals: dict[str, int] = {}
    took: dict[str, float] = {}
    connection = await asyncpg.connect(url)
    http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        for name, question in questions.items():
            if question.name is not None:
                continue
            where = _where(merchant_id, question.filter)
            everything = _where(merchant_id, replace(question.filter, before=None))
            rounds = []
            for _ in range(_PLAIN_ROUNDS):
                began = time.perf_counter()
                total = await connection.fetchval(
                    f"SELECT count(*) FROM transactions t WHERE {everything}", *everything.values
                )
                await connection.fetch(
                    f"""
                    SELECT * FROM transactions t WHERE {where} ORDER BY t.id DESC
                    LIMIT {_PER_PAGE} OFFSET {(question.page - 1) * _PER_PAGE}
                    """,
                    *where.values,
                )
                rounds.append((time.perf_counter() - began) * 1000)
            totals[name], took[name] = total, median(rounds)
            said = history_database.answer(http_, question.path, key)[1]["pagination"]["total"]
            if said != total:
                raise CannotMeasure(f"{name}: malipo counts {said}, and PostgreSQL {total}: this is a bug.")
    finally:
        http_.close()
        await connection.close()
    return totals, took
