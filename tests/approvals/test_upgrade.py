"""An upgrade forgets nothing of what operators have moved alone in the last 24 hours."""

from typing import Any

import pytest

from malipo import clock
from malipo.approvals import store
from malipo.approvals.act_rules import COUNTED
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.db.schema import migrations
from tests.approvals.test_one_operator_makes_no_money import ASHA, JUMA
from tests.db.test_migrate import empty as empty
from tests.db.test_migrate import empty_url as empty_url

BEFORE = 33


@pytest.fixture
async def older(empty: Database) -> Database:
    """A database of the version before, in use."""
    async with empty.begin() as tx:
        await tx.execute(
            """
            CREATE TABLE schema_migrations (
                number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
        for each in migrations()[:BEFORE]:
            await tx.execute(each.sql)
            values = (each.number, each.name, each.checksum)
            await tx.execute("INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)", *values)
    return empty


async def test_what_was_booked_alone_before_the_upgrade_still_counts(older: Database) -> None:
    now = clock.now()
    async with older.begin() as tx:
        entries: list[dict[str, Any]] = [{"amount": 600_000}, {"amount": 5}, {"amount": 9, "proposed_by": "x"}]
        for details in entries:
            await audit_log.append(tx, ASHA, "wallet.top_up", now=now, **details)
        await audit_log.append(tx, ASHA, "float.to_bank", now=now - COUNTED, amount=70, reference="NMB-4")
        await audit_log.append(tx, JUMA, "float.to_bank", now=now, amount=70, reference="NMB-5")
    await migrate(older)
    async with older.begin() as tx:
        since = now - COUNTED
        assert await store.sum_moved_alone(tx, ASHA.name, since=since) == 600_005
        assert await store.sum_moved_alone(tx, JUMA.name, since=since) == 70
