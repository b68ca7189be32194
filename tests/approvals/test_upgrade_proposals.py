"""What waited for a second operator before the upgrade waits after it, in the one table, and is done once.

A proposal is begun for real. Then it is written as the version before kept it, by hand from that version's statements,
in a schema as it was before; the migration runs, and a second operator approves.
"""

import asyncio
import json
from datetime import date
from typing import Any

import pytest

from malipo.approvals.acts import BOOKINGS, RESOLUTIONS, STATEMENT_UNDOS, Act
from malipo.approvals.store import Proposal, find_open
from malipo.db import Database, DataError, Tx
from malipo.db.migration_files import migrations
from malipo.errors import Refusal
from tests.approvals.grid import GRID, TWO
from tests.approvals.test_grid_of_operators import ASHA, JUMA, World
from tests.approvals.test_grid_of_operators import world as world
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import statements as statements

[MIGRATION] = [each for each in migrations() if each.name == "one_table_of_proposals"]

# What the migration adds, and an older schema does not have.
BEFORE = """
    ALTER TABLE proposals DROP COLUMN terms, DROP COLUMN reason;
    ALTER TABLE booking_proposals DROP CONSTRAINT booking_proposals_are_in_proposals;
    ALTER TABLE resolutions DROP CONSTRAINT resolutions_are_in_proposals;
    ALTER TABLE exception_resolutions DROP CONSTRAINT exception_resolutions_are_in_proposals;
    ALTER TABLE statement_proposals DROP CONSTRAINT statement_proposals_are_in_proposals;
    ALTER TABLE withdrawn_lines ADD CONSTRAINT withdrawn_lines_proposal_id_fkey
        FOREIGN KEY (proposal_id) REFERENCES statement_proposals;
    ALTER TABLE day_close_proposals DROP CONSTRAINT day_close_proposals_are_in_proposals;
    ALTER TABLE restore_releases DROP CONSTRAINT restore_releases_are_in_proposals;
"""
OF_LINES = [Act.BOOK_LINE, Act.BOOK_PAYOUT_LINE, Act.MATCH_LINE, Act.ADOPT_LINE, Act.UNDO, Act.UNDO_OF_TWO]
MOVED = [Act.IMPORT, *BOOKINGS, *RESOLUTIONS, *OF_LINES, *STATEMENT_UNDOS, Act.CLOSE_WITH_DIFFERENCE, Act.RELEASE]


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
    elif proposal.action in RESOLUTIONS:
        await tx.execute(
            """
            INSERT INTO resolutions (id, requested_by, requested_at, merchant_id, transaction_id, outcome, evidence,
                                     is_of_contradiction, provider_reference, is_despite_waiting, is_waived)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """,
            *common,
            terms["merchant_id"],
            proposal.subject,
            terms["outcome"],
            proposal.reason,
            terms["is_of_contradiction"],
            terms["provider_reference"],
            terms["is_despite_waiting"],
            terms["is_waived"],
        )
    elif proposal.action in OF_LINES:
        await tx.execute(
            """
            INSERT INTO exception_resolutions (id, requested_by, requested_at, exception_id, action, terms, reason, amount)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            *common,
            proposal.subject,
            terms["action"],
            json.dumps(terms["terms"]),
            proposal.reason,
            proposal.amount,
        )
    elif proposal.action in STATEMENT_UNDOS:
        await tx.execute(
            """
            INSERT INTO statement_proposals (id, requested_by, requested_at, action, file_id, booking_id, amount, reason)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            *common,
            "withdraw" if proposal.action is Act.WITHDRAW_STATEMENT else "undo",
            terms["file_id"],
            terms["booking_id"],
            proposal.amount,
            proposal.reason,
        )
    elif proposal.action is Act.CLOSE_WITH_DIFFERENCE:
        await tx.execute(
            """
            INSERT INTO day_close_proposals (id, requested_by, requested_at, day, hash, without, reason)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            *common,
            date.fromisoformat(proposal.subject),
            bytes.fromhex(terms["hash"]),
            terms["without"],
            proposal.reason,
        )
    elif proposal.action is Act.RELEASE:
        await tx.execute(
            """
            INSERT INTO restore_releases (id, requested_by, requested_at, epoch, channel, type, evidence)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            *common,
            terms["epoch"],
            terms["channel"],
            terms["type"],
            proposal.reason,
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
    assert {act.value for act in MOVED} == {act for act, row in GRID.items() if row.cells is TWO}


@pytest.mark.parametrize("act", MOVED)
async def test_what_waited_before_the_upgrade_is_approved_after_it_once(world: World, act: Act) -> None:
    begin, approve = await world.of(act)
    assert not await begin(ASHA)
    ids = await _go_back(world.database)
    assert ids
    await _upgrade(world.database)

    async with world.database.read() as connection:
        assert [each.id for each in await find_open(connection, list(Act))] == ids
        for place in OLD_PLACES:
            open_ = "approved_at" if place == "restore_releases" else "decided_at"
            left = await connection.fetchval(f"SELECT count(*) FROM {place} WHERE {open_} IS NULL")
            assert left == 0, f"a process of the version before could approve what is left in {place}"
    tried = await asyncio.gather(approve(JUMA), approve(JUMA), return_exceptions=True)
    assert sorted(isinstance(each, Refusal) for each in tried) == [False, True], tried
    async with world.database.read() as connection:
        assert await find_open(connection, list(Act)) == []


OLD_PLACES = {
    "booking_proposals": """
        INSERT INTO booking_proposals (id, merchant_id, kind, bank_reference, amount, requested_by, requested_at)
        SELECT 'bok_old', id, 'top_up', 'NMB-OLD', 5, 'operator asha', now() FROM merchants
    """,
    "resolutions": """
        INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence, requested_by,
                                 requested_at)
        SELECT 'res_old', id, 'txn_1', 'completed', true, 'The staff said so', 'operator asha', now() FROM merchants
    """,
    "exception_resolutions": """
        INSERT INTO exception_resolutions (id, exception_id, action, terms, reason, amount, requested_by, requested_at)
        VALUES ('exr_old', 'exc_1', 'note', '{}', 'It is ours', 0, 'operator asha', now())
    """,
    "statement_proposals": """
        INSERT INTO statement_proposals (id, action, file_id, amount, reason, requested_by, requested_at)
        VALUES ('stp_old', 'withdraw', 'stf_1', 0, 'It is not ours', 'operator asha', now())
    """,
    "day_close_proposals": """
        INSERT INTO day_close_proposals (id, day, hash, without, reason, requested_by, requested_at)
        VALUES ('dcp_old', '2026-11-02', '', '{}', 'small', 'operator asha', now())
    """,
    "restore_releases": """
        INSERT INTO restore_releases (id, epoch, evidence, requested_by, requested_at)
        VALUES ('rel_old', 2, 'The statements of Monday', 'operator asha', now())
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
