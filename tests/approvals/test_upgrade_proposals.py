"""What waited for a second operator before the upgrade waits after it, in the one table, and is done once.

A proposal is begun for real. Then it is written as the version before kept it, by hand from that version's statements,
in a schema as it was before; the migration runs, and a second operator approves.
"""

import asyncio
import json
from datetime import date
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import booking_approval, decide
from malipo.approvals.act_rules import BANK, BOOKINGS, RESOLUTIONS, SETTLEMENT_ACTS, STATEMENT_UNDOS, Act
from malipo.approvals.booking_approval import NotOpen
from malipo.approvals.store import Proposal, find_open
from malipo.db import Database, DataError, Tx
from malipo.db.schema import migrations
from malipo.errors import Refusal
from malipo.payments.after_restore import release
from malipo.payments.after_restore.release import Scope
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching.exception import ExceptionState
from tests.approvals.grid import GRID, TWO
from tests.approvals.test_grid_of_operators import ASHA, JUMA, Approve, World
from tests.approvals.test_grid_of_operators import world as world
from tests.payments.payment_steps import steps as steps
from tests.payments.resolving import EVIDENCE
from tests.reconciliation.exception_desk import ExceptionDesk, a_stranger
from tests.reconciliation.statement_days import line_of
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
# None of these waited before the upgrade.
NEWER = {
    *(Act.CANCEL_UNREPORTED, Act.MAKE_PAYING_KEY, Act.WITHDRAW_DOUBTED, Act.BOOK_AT_BANK, Act.BOOK_EQUITY),
    Act.SUSPENSE_RELEASE,
    Act.SUSPENSE_TAKE_BACK,
    Act.GIVE_ROLE,
    *BANK,
    *SETTLEMENT_ACTS,
}
OLDER = [Act.IMPORT, *BOOKINGS, *RESOLUTIONS, *OF_LINES, *STATEMENT_UNDOS, Act.CLOSE_WITH_DIFFERENCE, Act.RELEASE]
MOVED = [act for act in OLDER if act not in NEWER]


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
    elif proposal.action in RESOLUTIONS and not proposal.id.startswith("exr_"):
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
    elif proposal.id.startswith("exr_"):
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
    assert {act.value for act in {*MOVED, *NEWER}} == {act for act, row in GRID.items() if row.cells is TWO}


@pytest.mark.parametrize("act", MOVED)
async def test_what_waited_before_the_upgrade_is_approved_after_it_once(world: World, act: Act) -> None:
    begin, approve = await world.of(act)
    assert not await begin(ASHA)
    await _is_approved_once_after_the_upgrade(world, approve)


async def test_what_became_of_a_payment_proposed_about_its_exception_is_approved_once_too(world: World) -> None:
    """It waits twice: about the exception, and about the payment."""
    payment = await world.steps.ended(Type.DISBURSEMENT, Status.FAILED, 500)
    await world.statements.take(line_of(payment))
    [found] = await world.statements.open_exceptions()
    begin, approve = world.exception(found, Action.RESOLVE, {"outcome": "completed"})
    assert not await begin(ASHA)
    assert len(await _is_approved_once_after_the_upgrade(world, approve)) == 2
    correction = await world.steps.correction(payment)
    assert correction is not None
    assert correction.owed == 0
    await world.statements.check_ledger()


async def _is_approved_once_after_the_upgrade(world: World, approve: Approve) -> list[str]:
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
    return ids


@pytest.mark.parametrize("approves", [True, False])
async def test_a_note_that_waits_in_an_old_place_is_approved_or_rejected(world: World, approves: bool) -> None:
    """No version proposes one, but the old place takes it."""
    found = await a_stranger(world.statements, 700)
    async with world.database.begin() as tx:
        await tx.execute(BEFORE)
        await tx.execute(OLD_PLACES["exception_resolutions"].replace("exc_1", found.id))
        await tx.execute("UPDATE reconciliation_exceptions SET state = 'proposed' WHERE id = $1", found.id)
    await _upgrade(world.database)
    desk = ExceptionDesk(world.database)
    done = await (desk.approve if approves else desk.reject)(found, by=JUMA)
    assert done.state is ExceptionState.OPEN, "a note moves nothing"
    async with world.database.read() as connection:
        rows = await connection.fetch("SELECT action, decided_by, is_approved FROM proposals")
    assert [tuple(row) for row in rows] == [("note", "operator juma", approves)]


# Decided before, in each old place: approved, rejected, and what one operator did alone. What is kept in proposals.
DECIDED = """
    INSERT INTO booking_proposals (id, merchant_id, kind, bank_reference, amount, requested_by, requested_at, decided_by,
                                   decided_at, is_approved)
    SELECT v.id, m.id, 'top_up', v.id, 5, 'operator asha', now(), 'operator juma', now(), v.is_approved
    FROM merchants m, (VALUES ('bok_yes', true), ('bok_no', false)) v (id, is_approved);
    INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence, requested_by,
                             requested_at, decided_by, decided_at, is_approved)
    SELECT v.id, m.id, v.id, 'completed', true, 'The staff said so', 'operator asha', now(), 'operator juma', now(), v.is_approved
    FROM merchants m, (VALUES ('res_yes', true), ('res_no', false)) v (id, is_approved);
    INSERT INTO exception_resolutions (id, exception_id, action, terms, reason, amount, requested_by, requested_at,
                                       decided_by, decided_at, is_approved)
    VALUES ('exr_yes', 'exc_1', 'book', '{"account": "losses"}', 'It is ours', 5, 'operator asha', now(), 'operator juma', now(), true),
           ('exr_no', 'exc_1', 'book', '{"account": "losses"}', 'It is ours', 5, 'operator asha', now(), 'operator juma', now(), false);
    INSERT INTO statement_proposals (id, action, file_id, booking_id, amount, reason, requested_by, requested_at, decided_by,
                                     decided_at, is_approved)
    VALUES ('stp_yes', 'withdraw', 'stf_1', NULL, 5, 'It is not ours', 'operator asha', now(), 'operator juma', now(), true),
           ('stp_no', 'withdraw', 'stf_2', NULL, 5, 'It is not ours', 'operator asha', now(), 'operator juma', now(), false),
           ('stp_alone', 'undo', 'stf_3', 'hbk_1', 5, 'It is not ours', 'operator asha', now(), 'operator asha', now(), true);
    INSERT INTO day_close_proposals (id, day, hash, without, reason, requested_by, requested_at, decided_by, decided_at,
                                     is_approved)
    VALUES ('dcp_yes', '2026-11-02', '', '{}', 'small', 'operator asha', now(), 'operator juma', now(), true),
           ('dcp_no', '2026-11-03', '', '{}', 'small', 'operator asha', now(), 'operator juma', now(), false);
    INSERT INTO restore_releases (id, epoch, evidence, requested_by, requested_at, approved_by, approved_at, is_single_operator)
    VALUES ('rel_yes', 2, 'The statements', 'operator asha', now(), 'operator juma', now(), false),
           ('rel_only', 3, 'The statements', 'operator asha', now(), 'operator asha', now(), true);
"""
KEPT = {
    "bok_yes": ("operator juma", True),
    "bok_no": ("operator juma", False),
    "stp_yes": ("operator juma", True),
    "stp_no": ("operator juma", False),
    "dcp_yes": ("operator juma", True),
    "dcp_no": ("operator juma", False),
    "rel_yes": ("operator juma", True),
    "rel_only": ("operator asha", True),
}


async def test_what_was_decided_before_the_upgrade_stays_decided(world: World) -> None:
    async with world.database.begin() as tx:
        await tx.execute(BEFORE)
        await tx.execute("SET LOCAL session_replication_role = replica")  # What the rows are about is not there.
        await tx.execute(DECIDED)
    await _upgrade(world.database)
    async with world.database.read() as connection:
        rows = await connection.fetch("SELECT id, decided_by, is_approved FROM proposals")
        assert {row["id"]: (row["decided_by"], row["is_approved"]) for row in rows} == KEPT
        assert await find_open(connection, list(Act)) == []
        for place, number in (("resolutions", 2), ("exception_resolutions", 2)):
            assert await connection.fetchval(f"SELECT count(*) FROM {place}") == number, "what was done stays there"
    for id_ in ("bok_yes", "bok_no"):
        with pytest.raises(NotOpen):
            async with world.database.begin() as tx:
                await booking_approval.approve(tx, id_, actor=JUMA, now=clock.now())
    for subject in ("stf_1", "stf_2"):
        with pytest.raises(Refusal):
            async with world.database.begin() as tx:
                await decide.lock_open(tx, [Act.WITHDRAW_STATEMENT], subject)


async def test_of_several_releases_of_the_same_the_first_is_approved_once_and_others_for_themselves(
    world: World,
) -> None:
    epoch = await world.steps.service.fence("A test says that it was restored.", epoch=1)
    async with world.database.begin() as tx:
        await tx.execute(BEFORE)
        await tx.execute(
            """
            INSERT INTO restore_releases (id, epoch, channel, type, evidence, requested_by, requested_at)
            VALUES ('rel_1', $1, NULL, NULL, 'The statements of Monday', 'operator asha', now()),
                   ('rel_2', $1, NULL, NULL, 'The statements of Tuesday', 'operator neema', now()),
                   ('rel_3', $1, 'MPESA', 'DISBURSEMENT', 'The statements of Monday', 'operator asha', now()),
                   ('rel_4', $1, 'MPESA', 'COLLECTION', 'The statements of Monday', 'operator asha', now())
            """,
            epoch,
        )
    await _upgrade(world.database)
    async with world.database.read() as connection:
        assert [each.id for each in await find_open(connection, list(Act))] == ["rel_1", "rel_3", "rel_4"]
    scopes: list[Scope] = [None, ("MPESA", Type.DISBURSEMENT), ("MPESA", Type.COLLECTION)]
    for scope in scopes:
        async with world.database.begin() as tx:
            assert (await release.release(tx, EVIDENCE, scope, actor=JUMA, now=clock.now())).is_done
    async with world.database.read() as connection:
        rows = await connection.fetch("SELECT id, requested_by, decided_by, is_approved FROM proposals ORDER BY id")
    by = ("operator asha", "operator juma", True)
    assert [tuple(row) for row in rows] == [("rel_1", *by), ("rel_3", *by), ("rel_4", *by)]


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
