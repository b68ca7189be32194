"""Messages reach a mail server at least once, and always under the same Message-ID, whatever it does."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.mail.envelope import email_of
from malipo.mail.letter import letter_of
from malipo.mail.send import AWAY, LEASE, delay_after
from malipo.mail.smtp import MailConnection, Outcome, ServerAway
from malipo.merchants.people import Person
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.store import choices, messages
from malipo.messages.store.choices import Choice
from malipo.metrics.process_metrics import Metrics
from malipo.worker.message_sender import MessageSender
from tests.conftest import Merchant, free_port
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.mail.mail_server import CUT, RunningServer, mail_server
from tests.mail.mail_steps import RETRY_SECONDS, SENDER, Times, add_person, post, rows, sender, states, write_message
from tests.webhooks.certificates import authority


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


async def test_a_message_arrives_once_and_is_not_sent_again(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    send = sender(database, server.at(), times)
    await write_message(database, neema)

    assert await send() is False
    times.pass_(days=1)
    await send()

    [(envelope_from, to, _)] = server.inbox.envelopes
    assert (envelope_from, to) == (SENDER.address, ["neema@duka.example.com"])
    [row] = await rows(database)
    assert (row["state"], row["reply"], row["attempts"]) == ("sent", "kept", 0)
    assert server.inbox.message_ids == [f"<{row['id']}@duka.example.co.tz>"]


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
async def test_a_temporary_refusal_is_tried_again_on_the_schedule(
    database: Database, server: RunningServer, neema: Person, times: Times, stage: str
) -> None:
    send = sender(database, server.at(), times)
    await write_message(database, neema)
    server.inbox.answers[stage] = ["451 4.7.1 greylisted"] * 2

    await send()
    assert await states(database) == ["waiting"]
    times.pass_(seconds=RETRY_SECONDS[0] - 1)
    await send()
    assert len(server.inbox.answers[stage]) == 1, "not before its time"
    times.pass_(seconds=1)
    await send()
    times.pass_(seconds=RETRY_SECONDS[1])
    await send()

    [row] = await rows(database)
    assert (row["state"], row["attempts"], len(server.inbox.mails)) == ("sent", 2, 1)


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
async def test_a_permanent_refusal_ends_the_message(
    database: Database, server: RunningServer, neema: Person, times: Times, stage: str
) -> None:
    send = sender(database, server.at(), times)
    await write_message(database, neema)
    server.inbox.answers[stage] = ["550 5.1.1 no such mailbox"]

    await send()
    times.pass_(days=1)
    await send()

    [row] = await rows(database)
    assert (row["state"], row["reply"]) == ("refused", "550 5.1.1 no such mailbox")
    assert server.inbox.mails == []


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
async def test_a_lost_answer_is_followed_by_the_same_message_id(
    database: Database, server: RunningServer, neema: Person, times: Times, stage: str
) -> None:
    """At DATA the server has the message, and nobody can know: it comes twice, and mail readers show it once."""
    send = sender(database, server.at(), times)
    await write_message(database, neema)
    server.inbox.answers[stage] = [CUT]

    await send()
    assert await states(database) == ["waiting"]
    times.pass_(seconds=RETRY_SECONDS[0])
    await send()

    assert await states(database) == ["sent"]
    assert len(server.inbox.mails) == (2 if stage == "DATA" else 1)
    assert len(set(server.inbox.message_ids)) == 1


async def test_one_message_that_ends_every_connection_does_not_keep_the_others(
    database: Database, server: RunningServer, neema: Person, times: Times, merchant: Merchant
) -> None:
    others = [await add_person(database, merchant.id, f"other{each}@duka.example.com") for each in range(2)]
    for person in (neema, *others):
        await write_message(database, person)
    server.inbox.answers["RCPT"] = [CUT]

    await sender(database, server.at(), times)()

    assert await states(database) == ["waiting", "sent", "sent"]


@pytest.mark.parametrize("answer", ["550 5.7.1 you may not send from here", "451 try again later"])
async def test_a_server_that_refuses_our_sender_says_nothing_about_a_message(
    database: Database, server: RunningServer, neema: Person, times: Times, answer: str
) -> None:
    send = sender(database, server.at(), times)
    await write_message(database, neema)
    server.inbox.answers["MAIL"] = [answer]

    await send()
    [row] = await rows(database)
    assert (row["state"], row["attempts"], row["reply"]) == ("waiting", 0, answer)
    times.pass_(seconds=AWAY.total_seconds())
    await send()

    assert await states(database) == ["sent"]


async def test_a_server_that_is_away_for_a_day_gets_what_is_not_out_of_date(
    database: Database, neema: Person, times: Times
) -> None:
    port = free_port()
    await write_message(database, neema, MessageKind.KEY_CREATED, now=times.now)
    await write_message(database, neema, MessageKind.WALLET_LOW, now=times.now, available_amount=5, limit_amount=10)
    with mail_server(port=port) as server:
        at = server.at()
    send = sender(database, at, times)

    for _ in range(25):
        await send()
        times.pass_(hours=1)
    assert sorted(await states(database)) == ["expired", "waiting"]
    with mail_server(port=port) as server:
        await send()

    assert [each["Subject"] for each in server.inbox.mails] == ["A new API key: till"]
    assert sorted(await states(database)) == ["expired", "sent"]


async def test_two_workers_send_each_message_once(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    for _ in range(30):
        await write_message(database, neema)
    workers = [sender(database, server.at(), times) for _ in range(3)]

    while "waiting" in await states(database):
        await asyncio.gather(*(each() for each in workers))

    assert len(server.inbox.mails) == len(set(server.inbox.message_ids)) == 30


async def test_what_one_worker_is_claiming_another_does_not_wait_for_and_does_not_get(
    database: Database, neema: Person, times: Times
) -> None:
    await write_message(database, neema)

    async def claim() -> list[str]:
        async with database.begin() as tx:
            found = await messages.claim(tx, domain=SENDER.domain, most=5, now=times.now, until=times.now + LEASE)
            return [each.id for each in found]

    async with database.begin() as tx:
        first = await messages.claim(tx, domain=SENDER.domain, most=5, now=times.now, until=times.now + LEASE)
        second = asyncio.create_task(claim())
        await until(lambda: _is_done_or_waits(second, database), pause=0.01)

    assert (len(first), await second) == (1, [])


async def _is_done_or_waits(task: "asyncio.Task[list[str]]", database: Database) -> bool:
    return task.done() or await are_waiting(database)


class Hurrying(Times):
    """Each look at the clock is half a minute after the last one."""

    def __call__(self) -> datetime:
        self.pass_(seconds=30)
        return self.now


async def test_no_message_is_begun_when_its_claim_is_nearly_over(
    database: Database, server: RunningServer, neema: Person
) -> None:
    for _ in range(20):
        await write_message(database, neema)
    times = Hurrying()
    send = sender(database, server.at(), times)
    begun_at = times.now

    assert await send() is False

    assert 0 < len(server.inbox.mails) < 20
    assert times.now - begun_at < LEASE
    while "waiting" in await states(database):
        await send()
    assert len(server.inbox.mails) == len(set(server.inbox.message_ids)) == 20


async def test_a_message_that_cannot_be_written_does_not_stop_the_others(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    async with database.begin() as tx:
        await write.to_account(tx, MessageKind.KEY_CREATED, neema.id, {"happened_at": "at noon"}, now=times.now)
    await write_message(database, neema)

    await sender(database, server.at(), times)()

    assert sorted((row["state"], row["attempts"]) for row in await rows(database)) == [("sent", 0), ("waiting", 1)]
    assert len(server.inbox.mails) == 1


async def test_a_worker_that_dies_after_sending_is_followed_by_another_with_the_same_message_id(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    await write_message(database, neema)
    async with database.begin() as tx:
        [message] = await messages.claim(tx, domain=SENDER.domain, most=5, now=times.now, until=times.now + LEASE)
    letter = letter_of(message, Language.ENGLISH, service="Duka Pay", public_url="https://pay.example.co.tz")
    email = email_of(
        letter,
        sender=SENDER,
        address=neema.email,
        name=neema.name,
        message_id=message.message_id,
        sent_at=times.now,
    )
    connection = await MailConnection.open(server.at(), domain=SENDER.domain)
    attempt = await connection.send(email, sender=SENDER.address, recipient=neema.email)
    await connection.close()
    assert attempt.outcome is Outcome.ACCEPTED  # and here it dies

    another = sender(database, server.at(), times)
    await another()
    assert len(server.inbox.mails) == 1, "the claim holds"
    times.pass_(seconds=LEASE.total_seconds())
    await another()

    assert await states(database) == ["sent"]
    assert len(server.inbox.mails) == 2
    assert len(set(server.inbox.message_ids)) == 1


@pytest.mark.parametrize("address", ["a,b@duka.example.com", "<x>@duka.example.com", "né@duka.example.com"])
async def test_an_address_that_would_be_two_or_none_is_never_written(
    database: Database, server: RunningServer, merchant: Merchant, times: Times, address: str
) -> None:
    await write_message(database, await add_person(database, merchant.id, address))

    await sender(database, server.at(), times)()

    assert await states(database) == ["refused"]
    assert server.inbox.envelopes == []


async def test_starttls_is_required_and_its_certificate_checked(
    database: Database, neema: Person, times: Times
) -> None:
    ours, strangers = authority(), authority("A stranger")
    trusted = ours.trusted()
    with mail_server(starttls=ours.server("127.0.0.1"), password="mfuko wa siri") as server:
        at = server.at(needs_starttls=True, user="malipo", password="mfuko wa siri")
        await write_message(database, neema)
        await sender(database, at, times, tls=trusted)()
        assert await states(database) == ["sent"]
        assert server.inbox.were_encrypted == [True]
    with mail_server() as plain, pytest.raises(ServerAway):
        await MailConnection.open(plain.at(needs_starttls=True), domain="x.example.com", tls=trusted)
    with mail_server(starttls=strangers.server("127.0.0.1")) as fake:
        with pytest.raises(ServerAway, match="certificate"):
            await MailConnection.open(fake.at(needs_starttls=True), domain="x.example.com", tls=trusted)
        assert fake.inbox.envelopes == []


async def test_tls_from_the_first_byte(database: Database, neema: Person, times: Times) -> None:
    ours = authority()
    with mail_server(tls=ours.server("127.0.0.1")) as server:
        await write_message(database, neema)
        await sender(database, server.at(uses_tls=True), times, tls=ours.trusted())()
        assert len(server.inbox.mails) == 1


async def test_a_wrong_password_leaves_every_message_as_it_was(database: Database, neema: Person, times: Times) -> None:
    with mail_server(password="right") as server:
        await write_message(database, neema)
        await sender(database, server.at(user="malipo", password="wrong"), times)()

    [row] = await rows(database)
    assert (row["state"], row["attempts"]) == ("waiting", 0)
    assert row["reply"].startswith("535")


@pytest.mark.parametrize(("attempts", "seconds"), [(0, 60), (1, 300), (2, 3600), (3, 3600), (50, 3600)])
def test_the_schedule_repeats_its_last_delay(attempts: int, seconds: int) -> None:
    assert delay_after(attempts, RETRY_SECONDS) == seconds


async def test_a_message_of_a_kind_that_a_newer_version_has_written_waits_for_that_version(
    database: Database, server: RunningServer, neema: Person, times: Times
) -> None:
    await write_message(database, neema)
    async with database.begin() as tx:
        await tx.execute("UPDATE messages SET kind = 'of_tomorrow'")

    await sender(database, server.at(), times)()

    assert await states(database) == ["waiting"]
    assert server.inbox.mails == []
    assert (await rows(database))[0]["expires_at"] - times.now > timedelta(days=1)


async def test_nothing_is_sent_or_written_before_the_worker_has_compared_the_database(
    database: Database, server: RunningServer, merchant: Merchant, neema: Person, times: Times
) -> None:
    """A restored database has messages that were sent before, and wallets that are as low as they were."""
    compared: list[bool] = []
    messages_of = MessageSender(database, post(server.at()), Metrics(), times, may_send=lambda: bool(compared))
    await write_message(database, neema)
    async with database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = 0")
        await choices.write(tx, neema.id, {MessageKind.WALLET_LOW: Choice(is_wanted=True, amount=1_000)})
    before = await rows(database)
    assert await messages_of.step() is False
    await messages_of.look()
    assert (server.inbox.envelopes, await rows(database)) == ([], before)
    compared.append(True)
    await messages_of.step()
    assert len(server.inbox.envelopes) == 1
