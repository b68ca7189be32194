"""Messages when the mail server or a worker fails."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.mail.send import LEASE
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.store import messages
from malipo.restore.store import installation
from tests.conftest import NO_LIMITS, PATIENCE_SECONDS, Merchant, Running
from tests.mail.mail_server import CUT, SILENT, RunningServer, mail_server
from tests.mail.mail_steps import RETRY_SECONDS, Times, add_person, rows, sender, states, write_message


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
async def neema(database: Database, merchant: Merchant) -> Person:
    return await add_person(database, merchant.id, "neema@duka.example.com")


async def test_each_recipient_has_an_answer_of_its_own(
    database: Database, server: RunningServer, merchant: Merchant, times: Times
) -> None:
    """One notice to four people is four messages: who is refused takes nothing from the others."""
    for name in ("arrives", "later", "never", "too"):
        await add_person(database, merchant.id, f"{name}@duka.example.com")
    facts = {"name": "till", "by": "juma", "permissions": "x", "last4": "abcd", "happened_at": times.now.isoformat()}
    async with database.begin() as tx:
        await write.to_people(tx, MessageKind.KEY_CREATED, merchant.id, facts, now=times.now, cause="key_1")
    server.inbox.refused_addresses["later@duka.example.com"] = "452 4.2.2 mailbox full"
    server.inbox.refused_addresses["never@duka.example.com"] = "550 5.1.1 no such mailbox"
    send = sender(database, server.at(), times)

    await send()
    assert {row["address"].partition("@")[0]: (row["state"], row["attempts"]) for row in await rows(database)} == {
        "arrives": ("sent", 0),
        "later": ("waiting", 1),
        "never": ("refused", 0),
        "too": ("sent", 0),
    }
    server.inbox.refused_addresses.clear()
    times.pass_(seconds=RETRY_SECONDS[0])
    await send()

    first, second, third = (to for _, [to], _ in server.inbox.envelopes)
    assert {first, second} == {"arrives@duka.example.com", "too@duka.example.com"}
    assert third == "later@duka.example.com"


@pytest.mark.parametrize(("has_kept_it", "arrivals"), [(True, 2), (False, 1)])
async def test_a_connection_that_ends_after_the_last_line_is_followed_by_the_same_message_id(
    database: Database, server: RunningServer, neema: Person, times: Times, has_kept_it: bool, arrivals: int
) -> None:
    server.inbox.keeps_before_cut = has_kept_it
    server.inbox.answers["DATA"] = [CUT]
    send = sender(database, server.at(), times)
    await write_message(database, neema)

    await send()
    times.pass_(seconds=RETRY_SECONDS[0])
    await send()

    assert (len(server.inbox.mails), len(set(server.inbox.message_ids))) == (arrivals, 1)
    assert await states(database) == ["sent"]


async def test_a_worker_that_is_killed_while_it_waits_for_the_answer_is_followed_by_the_same_message_id(
    database: Database,
    database_url: str,
    server: RunningServer,
    neema: Person,
    start: Callable[..., Running],
) -> None:
    server.inbox.answers["DATA"] = [SILENT]
    now = clock.now()
    await write_message(database, neema, now=now)
    settings: dict[str, Any] = {
        "database_url": database_url,
        "smtp_url": f"smtp://127.0.0.1:{server.port}",
        "mail_sender": "Duka Pay <no-reply@duka.example.co.tz>",
        "public_url": "https://pay.example.co.tz",
    }
    worker = start("worker", **settings, **NO_LIMITS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.to_thread(server.inbox.has_mail.wait, PATIENCE_SECONDS)
    worker.kill()

    assert await states(database) == ["waiting"]
    times = Times(clock.now())
    await sender(database, server.at(), times)()
    assert len(server.inbox.mails) == 1, "the claim of the dead worker still holds"
    times.now += LEASE
    await sender(database, server.at(), times)()

    assert await states(database) == ["sent"]
    assert (len(server.inbox.mails), len(set(server.inbox.message_ids))) == (2, 1)


async def test_messages_of_before_a_restore_wait_for_its_release(
    database: Database, service: Service, server: RunningServer, neema: Person, merchant: Merchant, times: Times
) -> None:
    send = sender(database, server.at(), times)
    await write_message(database, neema, name="before")
    await service.fence("A test says that it was restored.", epoch=1)
    await write_message(database, neema, name="after")

    await send()
    assert [str(each["Subject"]) for each in server.inbox.mails] == ["A new API key: after"]
    async with database.begin() as tx:
        await installation.end_fence(tx)
    await send()

    assert [str(each["Subject"]) for each in server.inbox.mails] == ["A new API key: after", "A new API key: before"]


async def test_a_person_who_was_removed_is_told_what_was_written_before(
    database: Database, server: RunningServer, merchant: Merchant, times: Times, neema: Person
) -> None:
    """Else who has taken over an account would remove the owners before the worker looks."""
    gone = await add_person(database, merchant.id, "gone@duka.example.com", role=Role.OWNER)
    await write_message(database, gone)
    async with database.begin() as tx:
        await tx.execute("DELETE FROM people WHERE id = $1", gone.id)

    await sender(database, server.at(), times)()

    assert [to for _, to, _ in server.inbox.envelopes] == [[gone.email]]


async def test_what_has_ended_is_deleted_after_its_time_and_what_waits_is_not(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    await write_message(database, neema)
    await sender(database, server.at(), times)()
    times.pass_(days=89)
    await write_message(database, neema, now=times.now)
    async with database.begin() as tx:
        assert await messages.prune(tx, before=times.now - timedelta(days=90), most=10) == 0
        assert await messages.prune(tx, before=times.now - timedelta(days=88), most=10) == 1
    assert await states(database) == ["waiting"]
