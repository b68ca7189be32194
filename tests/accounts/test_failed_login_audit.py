"""The audit log records failed log-ins, and an attacker cannot fill it with them."""

import secrets
from datetime import timedelta

from malipo import clock
from malipo.accounts import failed_login_audit
from malipo.accounts.failed_login_audit import MOST_AN_HOUR, FailedLogins
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.audit_log.store import AuditLogEntry
from malipo.db import Database

ADDRESS = "10.63.0.1"
NOON = clock.now().replace(minute=0, second=0, microsecond=0)


async def entries(database: Database, merchant_id: str) -> list[AuditLogEntry]:
    """Oldest first."""
    async with database.read() as connection:
        return (await audit_log.find(connection, merchant_id=merchant_id, limit=1000))[::-1]


async def fail(database: Database, merchant_id: str, times: int, *, is_throttled: bool = False) -> None:
    failed = FailedLogins(database, "person_id")
    for n in range(times):
        await failed.note(
            f"per_{merchant_id}",
            Actor("asha@example.com", ADDRESS),
            merchant_id=merchant_id,
            address=ADDRESS,
            is_throttled=is_throttled,
            now=NOON + timedelta(seconds=n),
        )


async def test_the_first_of_an_hour_are_written_down_and_the_others_as_one_entry(database: Database) -> None:
    merchant_id = f"mer_{secrets.token_hex(6)}"
    await fail(database, merchant_id, MOST_AN_HOUR + 7)
    await fail(database, merchant_id, 30, is_throttled=True)
    written = await entries(database, merchant_id)
    assert [each.action for each in written] == ["login.failed"] * MOST_AN_HOUR
    assert {(each.actor, each.address) for each in written} == {("asha@example.com", ADDRESS)}

    await failed_login_audit.report(database, now=NOON + timedelta(minutes=59), most=1000)
    assert len(await entries(database, merchant_id)) == MOST_AN_HOUR, "the hour is not over"
    for _ in range(2):
        await failed_login_audit.report(database, now=NOON + timedelta(minutes=61), most=1000)
    (last,) = (await entries(database, merchant_id))[MOST_AN_HOUR:]
    assert (last.action, last.actor) == ("login.failed_often", "asha@example.com")
    assert (last.details["failures"], last.details["throttled"]) == (7, 30)


async def test_what_was_throttled_is_only_counted_and_an_hour_with_few_failures_has_nothing_more_to_say(
    database: Database,
) -> None:
    throttled, few = f"mer_{secrets.token_hex(6)}", f"mer_{secrets.token_hex(6)}"
    await fail(database, throttled, 3, is_throttled=True)
    await fail(database, few, 3)
    assert await entries(database, throttled) == []
    await failed_login_audit.report(database, now=NOON + timedelta(minutes=61), most=1000)
    (only,) = await entries(database, throttled)
    assert (only.action, only.details["failures"], only.details["throttled"]) == ("login.failed_often", 0, 3)
    assert [each.action for each in await entries(database, few)] == ["login.failed"] * 3


async def test_names_without_an_account_are_counted_together_and_not_written_down(database: Database) -> None:
    failed = FailedLogins(database, "person_id")
    async with database.begin() as tx:
        await tx.execute("DELETE FROM failed_logins")
    for n in range(3 * MOST_AN_HOUR):
        await failed.note(None, None, merchant_id=None, address=f"10.63.1.{n}", is_throttled=False, now=NOON)
    async with database.read() as connection:
        found = await audit_log.find(connection, limit=1000)
        assert await connection.fetchval("SELECT count(*) FROM failed_logins") == 1
    written = [each.actor for each in found if each.address.startswith("10.63.1.")]
    assert written == ["unknown"] * MOST_AN_HOUR, "and not what was typed"
