"""What waited for a second operator before the upgrade waits after it, in the one table, and is done once.

A proposal is begun for real. Then it is written as the version before kept it, by hand from that version's statements,
in a schema as it was before; the migration runs, and a second operator approves.
"""

import asyncio
from typing import Any

import pytest

from malipo.approvals.acts import BOOKINGS, Act
from malipo.approvals.store import Proposal, find_open
from malipo.db import Database, DataError, Tx
from malipo.db.migration_files import migrations
from malipo.errors import Refusal
from tests.approvals.test_grid_of_operators import ASHA, GRID, JUMA, TWO, World
from tests.approvals.test_grid_of_operators import world as world
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import statements as statements

[MIGRATION] = [each for each in migrations() if each.name == "one_table_of_proposals"]

# What the migration adds, and an older schema does not have.
BEFORE = """
    ALTER TABLE proposals DROP COLUMN terms, DROP COLUMN reason;
    ALTER TABLE booking_proposals DROP CONSTRAINT booking_proposals_are_in_proposals;
"""
MOVED = [Act.IMPORT, *BOOKINGS]


async def _write_as_before(tx: Tx, proposal: Proposal) -> None:
    """The open row of the version before."""
    terms = proposal.terms_as(dict[str, Any])
    common = (proposal.id, proposal.requested_by, proposal.requested_at)
    if proposal.action in BOOKINGS:
        await tx.execute(
            """
            INSERT INTO booking_proposals
                (id, requested_by, requested_at, merchant_id, kind, bank_reference, amount, channel, account)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            *common,
            terms["merchant_id"],
            terms["kind"],
            terms["bank_reference"],
            proposal.amount,
            terms["channel"],
            terms["account"],
        )


async def _go_back(database: Database) -> list[str]:
    """To a schema of the version before, with what is open in its places. The ids of that."""
    async with database.begin() as tx:
        found = await find_open(tx, list(Act))
        await tx.execute(BEFORE)
        for each in found:
            if each.action is not Act.IMPORT:  # It was in this table before.
                await tx.execute("DELETE FROM proposals WHERE id = $1", each.id)
                await _write_as_before(tx, each)
    return [each.id for each in found]


async def _upgrade(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute(MIGRATION.sql)


def test_every_act_that_waits_is_tried() -> None:
    assert {act.value for act in MOVED} <= {act for act, row in GRID.items() if row is TWO}


@pytest.mark.parametrize("act", MOVED)
async def test_what_waited_before_the_upgrade_is_approved_after_it_once(world: World, act: Act) -> None:
    begin, approve = await world.of(act)
    assert not await begin(ASHA)
    ids = await _go_back(world.database)
    assert ids
    await _upgrade(world.database)

    async with world.database.read() as connection:
        assert [each.id for each in await find_open(connection, list(Act))] == ids
    tried = await asyncio.gather(approve(JUMA), approve(JUMA), return_exceptions=True)
    assert sorted(isinstance(each, Refusal) for each in tried) == [False, True], tried
    async with world.database.read() as connection:
        assert await find_open(connection, list(Act)) == []


OLD_PLACES = {
    "booking_proposals": """
        INSERT INTO booking_proposals (id, merchant_id, kind, bank_reference, amount, requested_by, requested_at)
        SELECT 'bok_old', id, 'top_up', 'NMB-OLD', 5, 'operator asha', now() FROM merchants
    """,
}


@pytest.mark.parametrize("place", OLD_PLACES)
async def test_the_version_before_can_propose_nothing_that_the_new_one_would_not_see(world: World, place: str) -> None:
    with pytest.raises(DataError) as refused:
        async with world.database.begin() as tx:
            await tx.execute(OLD_PLACES[place])
    assert refused.value.constraint == f"{place}_are_in_proposals"


async def test_a_transfer_that_waits_in_each_direction_survives_too(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute(BEFORE)
        await tx.execute(
            """
            INSERT INTO booking_proposals (id, kind, bank_reference, amount, requested_by, requested_at, channel, account)
            VALUES ('hbk_1', 'to_bank', 'NMB-1', 5, 'operator asha', now(), 'MPESA', ''),
                   ('hbk_2', 'from_bank', 'NMB-1', 5, 'operator asha', now(), 'MPESA', '')
            """
        )
    await _upgrade(database)
    async with database.read() as connection:
        assert [each.id for each in await find_open(connection, BOOKINGS)] == ["hbk_1", "hbk_2"]
