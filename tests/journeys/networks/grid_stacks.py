"""Two towns in which every payment of the grid is made, one with callbacks and one without; and how each payment ended."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from malipo.networks.connector import Channel
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.networks.network_grid import (
    AMOUNTS,
    BILLER,
    CHANNELS,
    EXPECTED,
    FEE,
    FOLLOW_UP_SECONDS,
    NOT_FOUND_SECONDS,
    POLL_SECONDS,
    UNSETTLED_SECONDS,
    WALLET,
    Cell,
)


@dataclass(frozen=True)
class End:
    """What became of one payment: as the merchant, the database and the network have it."""

    shown: dict[str, Any]
    key: str
    moves: list[tuple[str, str, str, int]]  # step, from, to, amount
    network_answers: list[tuple[str, str]]  # by which act, and the verdict
    dispatch: dict[str, Any] | None
    why_unsettled: str | None
    movements: list[dict[str, Any]]
    network_says: dict[str, Any] | None
    requests: list[str]  # the bodies of the payment requests that reached the network


@dataclass(frozen=True)
class Place:
    """A town after everything has happened."""

    ends: dict[Cell, End]
    wallet: tuple[int, int]
    dispatches: int
    book: dict[str, Any]
    callbacks: list[dict[str, Any]]
    other_phones: set[str]


World = dict[bool, Place]  # by whether the networks send callbacks, or are only queried


@pytest.fixture(scope="module")
def world(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    async def live() -> World:
        urls = [await create_database(postgres, template) for _ in range(2)]
        reported, asked = await asyncio.gather(
            *(
                _live(
                    tmp_path_factory.mktemp("town"),
                    url,
                    [cell for cell in EXPECTED if cell.has_callbacks is has_callbacks],
                )
                for url, has_callbacks in zip(urls, (True, False), strict=True)
            )
        )
        return {True: reported, False: asked}

    return asyncio.run(live())


async def _live(folder: Path, database_url: str, cells: list[Cell]) -> Place:
    hurry: dict[str, Any] = {
        "poll_seconds": POLL_SECONDS,
        "not_found_seconds": NOT_FOUND_SECONDS,
        "not_indexed_seconds": NOT_FOUND_SECONDS,
        "not_indexed_answers": 3,
        "follow_up_seconds": FOLLOW_UP_SECONDS,
        "tigo_pesa_not_found_codes": "",
        "unsettled_seconds": UNSETTLED_SECONDS,
    }
    async with full_stack_started(folder, database_url, speed=1, wallet=WALLET, **hurry) as full_stack:
        await _set_up(full_stack, has_callbacks=cells[0].has_callbacks)
        async with a_worker(full_stack):
            # At the pace of the world: between a failure and the success that follows there must be time to ask, and a
            # person needs time to take the phone. All the others ten times as fast.
            first = [cell for cell in cells if cell.digits == "110" or _is_for_a_person(cell)]
            ids = await _take(full_stack, first)
            await _until_ended(full_stack, ids, seconds=15)
            await full_stack.sim.control(speed=10)
            ids |= await _take(full_stack, [cell for cell in cells if cell not in first])
            await _until_ended(full_stack, ids, seconds=45)
            unsettled = await full_stack.unsettled()
        return await _look(full_stack, ids, unsettled)


async def _set_up(full_stack: FullStack, *, has_callbacks: bool) -> None:
    async with full_stack.database.begin() as tx:
        for type_ in Type:
            for channel in Channel:
                await tariffs.replace(tx, full_stack.merchant.id, type_, channel, [Band(500, fixed_fee=FEE)])
    if not has_callbacks:
        await full_stack.sim("PUT", "/api/callbacks", dict.fromkeys(await full_stack.sim("GET", "/api/callbacks")))


async def _take(full_stack: FullStack, cells: list[Cell]) -> dict[Cell, str]:
    """All at once; but M-Pesa is one kind of application at a time, from when a request reaches it."""
    ids: dict[Cell, str] = {}
    for mode in ("sync", "async"):
        await full_stack.sim.control(channels={"MPESA": {"mode": mode}})
        now = [cell for cell in cells if ("sync" if cell.network == "M-Pesa sync" else "async") == mode]
        calls = (full_stack.take(CHANNELS[cell.network], cell.type, cell.phone, AMOUNTS[cell]) for cell in now)
        ids |= dict(zip(now, await asyncio.gather(*calls), strict=True))
        await until(lambda: _has_reached_all(full_stack), what="the network's hearing of all of them")
        await asyncio.gather(*(_approve(full_stack, cell.phone) for cell in now if _is_for_a_person(cell)))
    return ids


async def _has_reached_all(full_stack: FullStack) -> bool:
    async with full_stack.database.read() as connection:
        keys = [row["network_key"] for row in await connection.fetch("SELECT network_key FROM transactions")]
    bodies = "".join(entry["body"] for entry in await full_stack.sim("GET", "/api/seen?limit=2000"))
    return all(key in bodies for key in keys)


def _is_for_a_person(cell: Cell) -> bool:
    return (cell.type, cell.digits) == ("COLLECTION", "100")


async def _approve(full_stack: FullStack, phone: str) -> None:
    async def waiting() -> list[dict[str, Any]]:
        prompts = await full_stack.sim("GET", f"/api/prompts?phone=%2B{phone[1:]}")
        return [prompt for prompt in prompts if prompt["state"] == "waiting"]

    [prompt] = await until(waiting, what="the prompt")
    await full_stack.sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})


async def _until_ended(full_stack: FullStack, ids: dict[Cell, str], *, seconds: float) -> None:
    """Return when all stand as they should, or will not: which of them do not, the tests say one by one."""

    async def have() -> bool:
        async with full_stack.database.read() as connection:
            rows = await connection.fetch(
                f"""
                SELECT t.id, t.status, d.attention, d.transaction_id IS NULL AS is_done, now() - t.processing_at > interval '{UNSETTLED_SECONDS + 1} seconds' AS is_old,
                       EXISTS (SELECT FROM moves WHERE cause_id = t.id AND step = 'contradiction') AS is_contradicted
                FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id
                """
            )
        there = {row["id"]: row for row in rows}
        return all(
            _stands(cell, there[id_], is_alone=all(cell.digits in ("100", "110") for cell in ids))
            for cell, id_ in ids.items()
        )

    try:
        await until(have, seconds=seconds)
    except AssertionError:
        print("not everything ended in time")


def _stands(cell: Cell, row: Any, *, is_alone: bool) -> bool:
    status, _, why = EXPECTED[cell].partition(":")
    if status == "open":
        return bool(row["attention"] == why if why else row["is_old"])
    if is_alone:
        return bool(row["status"] == status)
    return bool(row["status"] == status and row["is_done"] and row["is_contradicted"] == cell.is_contradicted)


async def _look(full_stack: FullStack, ids: dict[Cell, str], unsettled: dict[str, str]) -> Place:
    book = await full_stack.sim("GET", "/api/book")
    seen = await full_stack.sim("GET", "/api/seen?limit=2000")
    ends = {cell: await _end(full_stack, cell, id_, book, seen, unsettled) for cell, id_ in ids.items()}
    await database_facts.assert_clean(full_stack.database)
    return Place(
        ends=ends,
        wallet=await database_facts.wallet(full_stack.database, full_stack.merchant.id),
        dispatches=await database_facts.count(full_stack.database, "dispatches"),
        book=book,
        callbacks=[entry for entry in seen if entry["direction"] == "out"],
        other_phones={each["phone"] for each in book["movements"]} - {cell.phone for cell in ids},
    )


async def _end(
    full_stack: FullStack,
    cell: Cell,
    id_: str,
    book: dict[str, Any],
    seen: list[dict[str, Any]],
    unsettled: dict[str, str],
) -> End:
    async with full_stack.database.read() as connection:
        key = await connection.fetchval("SELECT network_key FROM transactions WHERE id = $1", id_)
        moves = await connection.fetch(
            """
            SELECT step, source, target, amount FROM moves WHERE cause_id = $1
            ORDER BY step NOT IN ('open', 'end'), ordinal, step DESC, move_number
            """,
            id_,
        )
        network_answers = await connection.fetch(
            "SELECT source, verdict FROM network_answers WHERE transaction_id = $1 ORDER BY id", id_
        )
        dispatch = await connection.fetchrow("SELECT * FROM dispatches WHERE transaction_id = $1", id_)
    key = BILLER + key if cell.network == "Tigo Pesa" else key
    known = await full_stack.sim("GET", f"/api/transactions/{CHANNELS[cell.network]}/{key}", status=None)
    return End(
        shown=await full_stack.shown(id_),
        key=key,
        moves=[tuple(row.values()) for row in moves],
        network_answers=[tuple(row.values()) for row in network_answers],
        dispatch=None if dispatch is None else dict(dispatch),
        why_unsettled=unsettled.get(id_),
        movements=[each for each in book["movements"] if each["phone"] == cell.phone],
        network_says=known if "state" in known else None,
        requests=[
            entry["body"]
            for entry in seen
            if entry["method"] == "POST"
            and key in entry["body"]
            and entry["direction"] == "in"
            # Tigo Pesa is asked by POST too.
            and not entry["path"].endswith("/TQS")
        ],
    )
