"""Links for passwords by e-mail: made when the message is sent, stored as a hash, limited, and ended with their cause."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from malipo.accounts.tokens import hash_of
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants import manage_people, password_links
from malipo.merchants.password_links import LinkNotGood, TooManyMails, mail_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import password_links as links
from tests.conftest import NOBODY, Merchant
from tests.mail.mail_server import CUT, RunningServer, mail_server, text_of
from tests.mail.mail_steps import RETRY_SECONDS, Times, add_person, rows, sender, states

OPERATOR = Actor("operator asha", "test")
_PASSWORD = "ndizi tatu za kupika juu ya jiko"


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
async def juma(database: Database, merchant: Merchant) -> Person:
    async with database.begin() as tx:
        await tx.execute("INSERT INTO operators (id, name, created_at) VALUES ('opr_1', 'asha', now())")
    await add_person(database, merchant.id, "owner@duka.example.com")
    return await add_person(database, merchant.id, "juma@duka.example.com", role=Role.STAFF, has_password=False)


async def _mail(database: Database, person: Person, times: Times) -> None:
    async with database.begin() as tx:
        await mail_link(tx, person, business="Duka", actor=OPERATOR, now=times.now)


def link_in(server: RunningServer, place: int = -1) -> str:
    return text_of(server.inbox.mails[place]).split("/dashboard/password?token=")[1].split()[0]


async def test_a_link_is_made_when_it_is_sent_and_stored_only_as_its_hash(
    database: Database, server: RunningServer, juma: Person, times: Times
) -> None:
    await _mail(database, juma, times)
    async with database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM password_links") == 0
    times.pass_(hours=5)

    await sender(database, server.at(), times)()

    link = link_in(server)
    async with database.read() as connection:
        row = await connection.fetchrow("SELECT hash, expires_at FROM password_links")
        assert row is not None
        assert (bytes(row["hash"]), row["expires_at"]) == (hash_of(link), times.now + timedelta(hours=24))
        for table in ("messages", "password_links", "audit_log"):
            texts = await connection.fetch(f"SELECT to_jsonb(t)::text FROM {table} t")
            assert not any(link in row[0] for row in texts), table


async def test_opening_a_link_changes_nothing_and_it_works_once(
    database: Database, service: Service, server: RunningServer, juma: Person, times: Times
) -> None:
    await _mail(database, juma, times)
    await sender(database, server.at(), times)()
    link, login = link_in(server), service.accounts.login

    async with database.read() as connection:
        for _ in range(5):  # as programs do that look at e-mails before people
            found = await links.find(connection, hash_of(link), now=times.now)
            assert found is not None
    await login.use_link(link, _PASSWORD, address="10.0.0.1", now=times.now)

    with pytest.raises(LinkNotGood):
        await login.use_link(link, _PASSWORD, address="10.0.0.1", now=times.now)


async def test_all_links_of_a_message_that_was_sent_twice_work_until_one_is_used(
    database: Database, service: Service, server: RunningServer, juma: Person, times: Times
) -> None:
    await _mail(database, juma, times)
    server.inbox.answers["DATA"] = [CUT]
    await sender(database, server.at(), times)()
    times.pass_(seconds=RETRY_SECONDS[0])
    await sender(database, server.at(), times)()
    first, second = link_in(server, 0), link_in(server, 1)
    assert first != second

    await service.accounts.login.use_link(first, _PASSWORD, address="10.0.0.1", now=times.now)

    with pytest.raises(LinkNotGood):
        await service.accounts.login.use_link(second, _PASSWORD, address="10.0.0.1", now=times.now)


@pytest.mark.parametrize("what", ["the person is removed", "the role changes", "the operator is gone", "another link"])
async def test_a_link_that_must_not_be_any_more_is_not_sent(
    database: Database, server: RunningServer, juma: Person, times: Times, what: str
) -> None:
    await _mail(database, juma, times)
    async with database.begin() as tx:
        match what:
            case "the person is removed":
                await manage_people.remove_person(tx, juma, actor=NOBODY, now=times.now)
            case "the role changes":
                await manage_people.change_role(tx, juma, Role.VIEWER, actor=NOBODY, now=times.now)
            case "the operator is gone":
                await tx.execute("UPDATE operators SET name = 'somebody else' WHERE name = 'asha'")
            case _:
                await password_links.make_link(tx, juma, actor=OPERATOR, now=times.now)
                await mail_link(tx, juma, business="Duka", actor=OPERATOR, now=times.now)

    await sender(database, server.at(), times)()

    is_sent = what == "another link"
    assert sorted(await states(database)) == (["dropped", "sent"] if is_sent else ["dropped"])
    assert len(server.inbox.mails) == int(is_sent)


async def test_nobody_can_have_us_flood_an_address(
    database: Database, merchant: Merchant, juma: Person, times: Times
) -> None:
    for _ in range(password_links.MOST_TO_ADDRESS):
        await _mail(database, juma, times)
        times.pass_(hours=7)
    with pytest.raises(TooManyMails):
        await _mail(database, juma, times)
    times.pass_(hours=3, seconds=1)
    await _mail(database, juma, times)


async def test_nobody_can_have_us_flood_strangers(
    database: Database, merchant: Merchant, juma: Person, times: Times
) -> None:
    for number in range(password_links.MOST_OF_MERCHANT):
        async with database.begin() as tx:
            await tx.execute(
                "INSERT INTO messages (id, kind, merchant_id, account_id, address, name, facts, is_grouped, epoch,"
                " created_at, due_at, expires_at) VALUES ($1, 'invitation', $2, 'per_x', $1, '', '{}', false, 1,"
                " $3, $3, $3)",
                f"stranger{number}@example.com",
                merchant.id,
                times.now,
            )
    with pytest.raises(TooManyMails):
        await _mail(database, juma, times)
    assert len(await rows(database)) == password_links.MOST_OF_MERCHANT
