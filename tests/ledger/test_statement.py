"""Pages of a statement, compared with one in memory: counted, partly counted and uncounted, by time and by kind."""

import random
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger import statement as statements
from malipo.ledger.statement import WalletLine, WalletLineFilter, WalletLineKind
from malipo.ledger.store import statement, statement_rollups
from tests.conftest import make_merchant
from tests.payments.test_listing import Shop


async def everything(database: Database, shop: Shop) -> list[WalletLine]:
    """Every line, the newest first, read without the rollups."""

    async def read(query: object) -> object:
        async with database.snapshot() as connection:
            return await query(connection)  # type: ignore[operator]

    pieces: AsyncIterator[list[WalletLine]] = statement.stream(read, shop.merchant.id, WalletLineFilter())
    return [line async for piece in pieces for line in piece][::-1]


async def agree(
    database: Database, shop: Shop, lines: list[WalletLine], wanted: WalletLineFilter, *, limit: int = 7
) -> None:
    expected = [
        line
        for line in lines
        if wanted.kind in (None, line.kind)
        and (wanted.first is None or line.at >= wanted.first)
        and (wanted.last is None or line.at <= wanted.last)
    ]
    pages = -(-len(expected) // limit)
    for page in {1, 2, 1 + pages // 2, pages or 1, pages + 1}:
        async with database.snapshot() as connection:
            found = await statement.page(connection, shop.merchant.id, wanted, page=page, limit=limit)
        assert found == (len(expected), expected[(page - 1) * limit : page * limit]), (wanted, page)


async def scatter(database: Database, shop: Shop) -> None:
    """The lines are some minutes apart, and now and then a clock is behind by a few."""
    async with database.begin() as tx:
        await tx.execute(
            """
            UPDATE moves SET created_at = now() + statement_line * interval '3 minutes' - (statement_line % 3) * interval '1 minute'
            WHERE merchant_id = $1 AND statement_line IS NOT NULL
            """,
            shop.merchant.id,
        )


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
async def test_whatever_is_counted_every_page_is_the_same(database: Database, service: Service, seed: int) -> None:
    shop = Shop(service, await make_merchant(database, wallet=10**9), random.Random(seed))
    for _ in range(3):
        await shop.sell(250)
        for _ in range(4):
            await shop.go_on()
        await scatter(database, shop)
        lines = await everything(database, shop)
        assert [line.number for line in lines] == [*range(len(lines), 0, -1)]
        for _ in range(10):
            times = sorted(line.at for line in shop.chance.choices(lines, k=2))
            wanted = WalletLineFilter(
                kind=shop.chance.choice([None, *WalletLineKind]),
                first=shop.chance.choice([None, times[0], times[0] + timedelta(seconds=1)]),
                last=shop.chance.choice([None, times[1], times[1] - timedelta(seconds=1)]),
            )
            await agree(database, shop, lines, wanted)
        async with database.begin() as tx:
            await statement_rollups.count(tx, least=1)
    assert len(lines) > 2 * 2**statements.TREE.leaf_bits, "no whole leaf was walked into"


async def test_a_wallet_without_lines_has_an_empty_page(database: Database, service: Service) -> None:
    shop = Shop(service, await make_merchant(database), random.Random(1))
    await agree(database, shop, [], WalletLineFilter())
    await agree(database, shop, [], WalletLineFilter(kind=WalletLineKind.PAYOUT))
