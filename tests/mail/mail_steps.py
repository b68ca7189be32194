"""Steps of the tests of e-mail: a person who reads it, a time that passes when a test says so, and a worker's sender."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from malipo import clock
from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.mail.send import Post, SendMessages
from malipo.merchants import manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.metrics.process_metrics import Metrics
from malipo.settings.mail import MailSender, MailServer
from tests.conftest import NOBODY

NOON = datetime(2026, 11, 18, 9, tzinfo=UTC)
SENDER = MailSender("no-reply@duka.example.co.tz", "Duka Pay")
RETRY_SECONDS = (60, 300, 3600)


class Times:
    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **passed: float) -> None:
        self.now += timedelta(**passed)


def post(server: MailServer, **changed: Any) -> Post:
    return Post(server, SENDER, "https://pay.example.co.tz", Language.ENGLISH, RETRY_SECONDS)._replace(**changed)


def sender(database: Database, server: MailServer, times: Times, **options: Any) -> SendMessages:
    return SendMessages(database, post(server), Metrics(), times, **options)


async def add_person(
    database: Database,
    merchant_id: str,
    email: str,
    *,
    role: Role = Role.OWNER,
    name: str = "Neema",
    has_password: bool = True,
) -> Person:
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant_id, email=email, name=name, role=role, actor=NOBODY, now=clock.now()
        )
        if has_password:
            await people.set_password(tx, person.id, "a hash")
        found = await people.find(tx, person.id)
    assert found is not None
    return found


async def write_message(
    database: Database,
    person: Person,
    kind: MessageKind = MessageKind.KEY_CREATED,
    *,
    now: datetime = NOON,
    **facts: str | int,
) -> None:
    known: Mapping[str, str | int] = {
        "name": "till",
        "by": "juma@example.com",
        "permissions": "payments.create",
        "last4": "abcd",
        "happened_at": now.isoformat(),
        "path": "/dashboard/keys",
    }
    async with database.begin() as tx:
        await write.to_account(tx, kind, person.id, {**known, **facts}, now=now)


async def rows(database: Database) -> list[dict[str, Any]]:
    async with database.read() as connection:
        return [dict(row) for row in await connection.fetch("SELECT * FROM messages ORDER BY id")]


async def states(database: Database) -> list[str]:
    return [row["state"] for row in await rows(database)]
