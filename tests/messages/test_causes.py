"""Every cause writes its message in its own commit: for the right people, in the language of each, through the use case
that the pages, the API and the worker call."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

import asyncpg
import pytest

from malipo import clock, ids
from malipo.accounts.known_browsers import Browser
from malipo.accounts.second_factor import enrol, totp
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.http.translator import Translator
from malipo.invoices import issue_invoices
from malipo.invoices.invoice import FeeKind, FeeSum, Party
from malipo.mail import letter
from malipo.mail.words import KIND_WORDS
from malipo.merchants import issue_api_keys, manage_people, password_links, second_factor
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.merchants.store.sessions import MerchantSession
from malipo.messages.kinds import KINDS, MessageKind
from malipo.messages.notify_low_wallets import notify_low_wallets
from malipo.messages.store import choices
from malipo.messages.store.choices import Choice
from malipo.messages.summarize_yesterday import summarize_yesterday
from malipo.networks.connector import Type, Verdict
from malipo.operators import login as operators_login
from malipo.operators import second_factor as operators_factor
from malipo.operators import store as operators
from malipo.operators.change_address import change_address
from malipo.payments.batches.batch import Requester
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from malipo.settlement import manage_bank_accounts, release
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.operator_acts import SettlementActs
from malipo.settlement.store import bank_accounts
from malipo.webhooks.delivery_state import Attempt
from malipo.webhooks.disable_endpoint import note_health
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.fan_out import fan_out
from malipo.webhooks.store import endpoints
from malipo.worker.batch_completer import complete_batches
from tests.authenticator_app import enrolled
from tests.conftest import NOBODY, Merchant
from tests.dashboard.page_client import PASSWORD, add_person
from tests.mail.mail_server import RunningServer, mail_server, text_of
from tests.mail.mail_steps import Times, rows, sender
from tests.operators.booking_steps import Desk, hire
from tests.payments.batches.batch_steps import BatchSteps
from tests.payments.payment_steps import PaymentSteps
from tests.settlement.act_subjects import restored
from tests.settlement.settlement_steps import SettlementSteps

NEW_PASSWORD = "ndizi tatu za kupika juu ya jiko"
_AT = "@duka.example"
# By the name before the @. Swahili speakers: asha, juma, oa.
ROLES = {
    "asha": Role.OWNER,
    "neema": Role.OWNER,
    "juma": Role.STAFF,  # may approve
    "baraka": Role.STAFF,
    "rehema": Role.VIEWER,
    "invited": Role.OWNER,  # has never chosen a password
}
_SWAHILI = ("asha", "juma", "oa")


@dataclass
class Office:
    """A merchant with all roles, and two operators with an address; a third has none."""

    service: Service
    database: Database
    merchant: Merchant
    people: dict[str, Person] = field(default_factory=dict)
    sessions: dict[str, MerchantSession] = field(default_factory=dict)

    @property
    def batches(self) -> BatchSteps:
        return BatchSteps(self.service, self.merchant.id)

    @property
    def payments(self) -> PaymentSteps:
        return PaymentSteps(self.service, self.merchant.id)

    def requester(self, name: str) -> Requester:
        return Requester(name + _AT, name + _AT, Actor(name + _AT, "10.0.0.1"))

    async def choose(self, name: str, kind: MessageKind, *, is_wanted: bool = True, amount: int | None = None) -> None:
        async with self.database.begin() as tx:
            await choices.write(tx, self.people[name].id, {kind: Choice(is_wanted, amount)})

    async def forget_messages(self) -> None:
        """Those of what was made ready."""
        async with self.database.begin() as tx:
            await tx.execute("DELETE FROM messages")

    async def number(self) -> None:
        async with self.database.begin() as tx:
            await fan_out(tx, most=100, claim_id="", lease_seconds=0, may_claim=lambda _: False, now=clock.now())


@pytest.fixture
async def office(service: Service, database: Database, merchant: Merchant) -> Office:
    office = Office(service, database, merchant)
    for name, role in ROLES.items():
        office.people[name] = await add_person(database, merchant.id, name + _AT, role, name=name.title())
    async with database.begin() as tx:
        await people.set_may_approve(tx, office.people["juma"].id, may_approve=True)
        await tx.execute("UPDATE people SET password_hash = NULL WHERE email = $1", "invited" + _AT)
    gone = await add_person(database, merchant.id, "formerly" + _AT)
    async with database.begin() as tx:
        await manage_people.remove_person(tx, gone, actor=NOBODY, now=clock.now())
    for name in ("oa", "ob", "oc"):
        await hire(database, name)
    async with database.begin() as tx:
        await tx.execute("UPDATE operators SET email = name || $1 WHERE name IN ('oa', 'ob')", _AT)
        for table in ("people", "operators"):
            await tx.execute(
                f"UPDATE {table} SET language = 'sw' WHERE email = ANY($1)", [name + _AT for name in _SWAHILI]
            )
    await office.forget_messages()
    return office


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with mail_server() as running:
        yield running


# What makes ready comes before; `act` is the cause, and the cause alone.
Act = Callable[[Office], Awaitable[Any]]


class Cause(NamedTuple):
    kind: MessageKind
    told: str  # names, in order
    make_ready: Callable[[Office], Awaitable[Act]]
    stored: str  # SQL: what the cause changes beside the message
    besides: MessageKind | None = None  # the same cause writes messages of this kind too, for others


def _logged_in(office: Office, name: str) -> MerchantSession:
    return MerchantSession("ses_1", office.people[name], "Duka", clock.now(), clock.now())


async def _invitation(office: Office) -> Act:
    async def act(office: Office) -> None:
        await office.service.accounts.invitations.invite(
            _logged_in(office, "asha"),
            email="new" + _AT,
            name="New",
            role=Role.STAFF,
            actor=Actor("asha" + _AT, "10.0.0.1"),
            now=clock.now(),
            by_mail=True,
            language="sw",
        )

    async with office.database.begin() as tx:  # The link is made only while its maker is there.
        await tx.execute(
            "INSERT INTO sessions (id, person_id, created_at, last_used_at, confirmed_at, expires_at, address, user_agent)"
            " VALUES ('ses_1', $1, now(), now(), now(), now() + interval '1 day', 'test', '')",
            office.people["asha"].id,
        )
    return act


async def _password_link(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            actor = Actor("operator oa", "test")
            await password_links.mail_link(
                tx, await _found(office, "juma"), business="Duka", actor=actor, now=clock.now()
            )

    return act


async def _password_changed(office: Office) -> Act:
    async def act(office: Office) -> None:
        await office.service.accounts.login.change_password(
            await _found(office, "juma"), PASSWORD, NEW_PASSWORD, address="10.0.0.1", now=clock.now()
        )

    return act


async def _operators_password(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await operators_login.set_password(tx, "ob", "x", actor=Actor("operator oa", "test"), now=clock.now())

    return act


async def _new_place(office: Office) -> Act:
    async def act(office: Office, address: str = "196.41.3.4") -> None:
        await office.service.accounts.login.begin(
            "juma" + _AT, PASSWORD, address=address, browser=Browser(user_agent="x"), now=clock.now()
        )

    await act(office, "10.77.0.1")
    return act


async def _operators_new_place(office: Office) -> Act:
    async def act(office: Office, address: str = "196.41.3.4") -> None:
        await office.service.accounts.operators.begin(
            "ob", PASSWORD, address=address, browser=Browser(user_agent="x"), now=clock.now()
        )

    async with office.database.begin() as tx:
        await tx.execute(
            "UPDATE operators SET password_hash = (SELECT password_hash FROM people WHERE email = $1) WHERE name = 'ob'",
            "juma" + _AT,
        )
    await act(office, "10.77.0.1")
    return act


async def _enrolment(office: Office) -> Act:
    async def act(office: Office) -> None:
        owner, now, secret = second_factor.owner_of(office.people["juma"], "10.0.0.1"), clock.now(), totp.new_secret()
        code = totp.code_at(secret, totp.step_at(now))
        async with office.database.begin() as tx:
            await enrol.enrol(tx, owner, secret, code, encryption=office.service.encryption, now=now)

    return act


async def _enrolled(office: Office, account_id: str) -> None:
    await enrolled(office.database, account_id)


async def _removal(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await enrol.remove(tx, second_factor.owner_of(office.people["juma"], "10.0.0.1"), now=clock.now())

    await _enrolled(office, office.people["juma"].id)
    return act


async def _recovery_codes(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            owner = second_factor.owner_of(office.people["juma"], "10.0.0.1")
            await enrol.make_recovery_codes(tx, owner, now=clock.now())

    await _enrolled(office, office.people["juma"].id)
    return act


async def _reset(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await second_factor.reset(tx, office.people["juma"], actor=Actor("asha" + _AT, "10.0.0.1"), now=clock.now())

    await _enrolled(office, office.people["juma"].id)
    return act


async def _operators_reset(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            operator = await operators.find_operator(tx, "ob")
            assert operator is not None
            await operators_factor.reset(tx, operator, actor=Actor("operator oa", "test"), now=clock.now())

    async with office.database.read() as connection:
        found = await operators.find_operator(connection, "ob")
    assert found is not None
    await _enrolled(office, found.id)
    return act


async def _address(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            operator = await operators.find_operator(tx, "ob")
            assert operator is not None
            actor = Actor("operator ob", "test")
            await change_address(tx, operator.id, "elsewhere@example.com", actor=actor, now=clock.now())

    return act


async def _key(office: Office) -> Act:
    async def act(office: Office) -> None:
        terms = KeyTerms(name="Till", permissions=tuple(Permission), environment=Environment.LIVE, brand="mlp")
        async with office.database.begin() as tx:
            await issue_api_keys.create_key(tx, office.merchant.id, terms, actor=NOBODY, now=clock.now())

    return act


async def _batch(office: Office) -> Act:
    return lambda office: office.batches.make(3, requester=office.requester("asha"))


async def _batch_of_staff(office: Office) -> Act:
    return lambda office: office.batches.make(3, requester=office.requester("baraka"))


async def _failed_batch(office: Office) -> Act:
    batch = await office.batches.make(2, requester=office.requester("asha"))
    await office.batches.approve(batch, office.requester("neema"))
    sent = (await office.batches.claim()).to_send
    for payout, verdict in zip(sent, (Verdict.CONFIRMED, Verdict.REFUSED), strict=True):
        await office.payments.report(payout, verdict, AnswerSource.SEND)
    return lambda office: complete_batches(office.database)


async def _failed_payout(office: Office) -> Act:
    for amount in (1000, 2000):
        await office.payments.ended(Type.DISBURSEMENT, Status.FAILED, amount)
    return lambda office: office.number()


async def _dead_endpoint(office: Office) -> Act:
    endpoint_id, now = ids.mint("whe_", clock.now()), clock.now()
    async with office.database.begin() as tx:
        await endpoints.insert(
            tx,
            Endpoint(
                id=endpoint_id,
                merchant_id=office.merchant.id,
                url="https://duka.example/hooks",
                events=["*"],
                is_active=True,
                secret=b"x",
                created_at=now,
            ),
        )

    async def act(office: Office) -> None:
        attempt = Attempt((endpoint_id, "evt_1"), "clm_1", "att_1", now, 5, 410, (), b"", None)
        async with office.database.begin() as tx:
            await note_health(tx, [attempt], now=now)

    return act


async def _low_wallet(office: Office) -> Act:
    await office.choose("rehema", MessageKind.WALLET_LOW, amount=2_000_000)
    await office.choose("asha", MessageKind.WALLET_LOW, amount=500)

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await notify_low_wallets(tx, now=clock.now())

    return act


async def _summary(office: Office) -> Act:
    await office.choose("juma", MessageKind.DAILY_SUMMARY)

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await summarize_yesterday(tx, now=clock.now().astimezone(clock.ZONE).replace(hour=8))

    return act


async def _proposal(office: Office) -> Act:
    desk = Desk(office.database, office.merchant)
    return lambda office: desk.request(actor=Actor("operator oa", "test"))


def _a_bank_account(office: Office) -> BankAccount:
    now = clock.now()
    return BankAccount(
        merchant_id=office.merchant.id,
        id=ids.mint("bka_", now),
        bic="CORUTZTZ",
        account_number="0150442189100",
        holder_name="Duka Ltd",
        created_at=now,
        created_by="asha" + _AT,
    )


async def _bank_account(office: Office) -> Act:
    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            actor = Actor("asha" + _AT, "10.0.0.1")
            await manage_bank_accounts.add(tx, _a_bank_account(office), actor=actor, now=clock.now())

    return act


async def _stopped_bank_account(office: Office) -> Act:
    account = _a_bank_account(office)
    async with office.database.begin() as tx:
        await bank_accounts.insert(tx, account)

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            actor = Actor("neema" + _AT, "10.0.0.1")
            await manage_bank_accounts.stop(tx, account.id, actor=actor, now=clock.now())

    return act


async def _stopped_bank_account_with_money(office: Office) -> Act:
    steps = await SettlementSteps.of(office.service, office.database, office.merchant.id)
    await steps.sent()

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            actor = Actor("neema" + _AT, "10.0.0.1")
            await manage_bank_accounts.stop(tx, steps.account.id, actor=actor, now=clock.now())

    return act


async def _verified_bank_account(office: Office) -> Act:
    account, acts = _a_bank_account(office), SettlementActs(timedelta(hours=72))
    async with office.database.begin() as tx:
        await bank_accounts.insert(tx, account)
        await acts.verify(tx, account.id, "The contract.", actor=operator_at("oa", "test"), now=clock.now())

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await acts.approve(tx, account.id, actor=operator_at("ob", "test"), now=clock.now())

    return act


async def _release_of_settlements(office: Office) -> Act:
    await SettlementSteps.of(office.service, office.database, office.merchant.id)
    await restored(office.database)

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await release.release(tx, now=clock.now())

    return act


async def _completed_settlement(office: Office) -> Act:
    steps = await SettlementSteps.of(office.service, office.database, office.merchant.id)
    sent = await steps.sent()
    return lambda _: steps.complete(sent)


async def _returned_settlement(office: Office) -> Act:
    steps = await SettlementSteps.of(office.service, office.database, office.merchant.id)
    completed = await steps.completed()
    return lambda _: steps.give_back(completed)


async def _invoice(office: Office) -> Act:
    sums = [FeeSum(merchant_id=office.merchant.id, fee=FeeKind.COLLECTION, day=date(2026, 9, 1), count=1, amount=10)]

    async def act(office: Office) -> None:
        async with office.database.begin() as tx:
            await issue_invoices.issue_one(
                tx,
                sums,
                date(2026, 9, 1),
                seller=Party(name="Malipo Ltd"),
                rates=[],
                series="A",
                opened=None,
                actor=operator_at("oa", "test"),
                now=clock.now(),
            )

    return act


_FACTORS = "SELECT count(*) FROM second_factors"
_PASSWORDS = "SELECT string_agg(password_hash, ' ' ORDER BY name) FROM people"
_OPERATORS = "SELECT string_agg(concat(name, password_hash, email), ' ' ORDER BY name) FROM operators"
_RESETS = "SELECT count(*) FROM credential_resets"
_BATCHES = "SELECT count(*) FROM batches"

# Each row of the table in docs/messages.md.
CAUSES = {
    "an invitation": Cause(MessageKind.INVITATION, "new", _invitation, "SELECT count(*) FROM people"),
    "a link for a password": Cause(MessageKind.PASSWORD_LINK, "juma", _password_link, _RESETS),
    "a changed password": Cause(MessageKind.PASSWORD_CHANGED, "juma", _password_changed, _PASSWORDS),
    "an operator's password": Cause(MessageKind.PASSWORD_CHANGED, "ob", _operators_password, _OPERATORS),
    "a new place": Cause(MessageKind.NEW_PLACE, "juma", _new_place, "SELECT count(*) FROM sessions"),
    "an operator's new place": Cause(
        MessageKind.NEW_PLACE, "ob", _operators_new_place, "SELECT count(*) FROM operator_sessions"
    ),
    "an enrolment": Cause(MessageKind.SECOND_FACTOR_ENROLLED, "juma", _enrolment, _FACTORS),
    "a removal": Cause(MessageKind.SECOND_FACTOR_REMOVED, "juma", _removal, _FACTORS),
    "recovery codes": Cause(
        MessageKind.RECOVERY_CODES_MADE, "juma", _recovery_codes, "SELECT min(encode(hash, 'hex')) FROM recovery_codes"
    ),
    "a reset": Cause(MessageKind.SECOND_FACTOR_RESET, "juma", _reset, _FACTORS),
    "an operator's reset": Cause(MessageKind.SECOND_FACTOR_RESET, "ob", _operators_reset, _FACTORS),
    "an operator's address": Cause(MessageKind.ADDRESS_CHANGED, "ob", _address, _OPERATORS),
    "a key": Cause(MessageKind.KEY_CREATED, "asha neema", _key, "SELECT count(*) FROM api_keys"),
    "a batch": Cause(MessageKind.BATCH_WAITING, "juma neema", _batch, _BATCHES),
    "a batch of the staff": Cause(MessageKind.BATCH_WAITING, "asha juma neema", _batch_of_staff, _BATCHES),
    "a batch with failures": Cause(
        MessageKind.BATCH_FAILED, "asha baraka juma neema", _failed_batch, "SELECT count(completed_at) FROM batches"
    ),
    "failed payouts": Cause(
        MessageKind.PAYOUTS_FAILED, "asha baraka juma neema", _failed_payout, "SELECT max(feed_number) FROM events"
    ),
    "a dead endpoint": Cause(
        MessageKind.ENDPOINT_DISABLED,
        "asha baraka juma neema",
        _dead_endpoint,
        "SELECT max(disabled_at) FROM webhook_endpoints",
    ),
    "a low wallet": Cause(
        MessageKind.WALLET_LOW, "rehema", _low_wallet, "SELECT count(*) FROM message_choices WHERE is_below"
    ),
    "a summary": Cause(MessageKind.DAILY_SUMMARY, "juma", _summary, "SELECT 1"),
    "a bank account": Cause(
        MessageKind.BANK_ACCOUNT_ADDED, "asha formerly neema", _bank_account, "SELECT count(*) FROM bank_accounts"
    ),
    "a verified bank account": Cause(
        MessageKind.BANK_ACCOUNT_VERIFIED,
        "asha formerly neema",
        _verified_bank_account,
        "SELECT max(verified_at) FROM bank_accounts",
    ),
    "a stopped bank account": Cause(
        MessageKind.BANK_ACCOUNT_STOPPED,
        "asha formerly neema",
        _stopped_bank_account,
        "SELECT max(status) FROM bank_accounts",
    ),
    "the release of settlements after a restore": Cause(
        MessageKind.LOOK_AFTER_RESTORE,
        "asha neema",
        _release_of_settlements,
        "SELECT count(*) FROM settlement_releases",
    ),
    "a settlement that arrived": Cause(
        MessageKind.SETTLEMENT_COMPLETED, "asha neema", _completed_settlement, "SELECT max(status) FROM settlements"
    ),
    "a settlement that came back": Cause(
        MessageKind.SETTLEMENT_RETURNED, "asha neema", _returned_settlement, "SELECT max(status) FROM settlements"
    ),
    "an invoice": Cause(MessageKind.INVOICE_ISSUED, "asha neema", _invoice, "SELECT count(*) FROM invoices"),
    "a stopped bank account to which money is on its way": Cause(
        MessageKind.STOPPED_ACCOUNT_IN_FILE,
        "oa ob",
        _stopped_bank_account_with_money,
        "SELECT max(status) FROM bank_accounts",
        besides=MessageKind.BANK_ACCOUNT_STOPPED,
    ),
    "a proposal": Cause(MessageKind.PROPOSAL_WAITING, "ob", _proposal, "SELECT count(*) FROM proposals"),
}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
async def test_the_right_people_get_the_message_in_their_language(
    office: Office, server: RunningServer, cause: Cause
) -> None:
    act = await cause.make_ready(office)
    await office.forget_messages()

    await act(office)

    messages = await rows(office.database)
    assert {row["kind"] for row in messages} - {cause.besides} == {cause.kind}
    async with office.database.begin() as tx:
        await tx.execute("DELETE FROM messages WHERE kind = $1", cause.besides)
    server.inbox.mails.clear()
    # A summary is due at eight, which is later today if it is night.
    last = max(clock.now(), *(row["due_at"] for row in messages))
    await sender(office.database, server.at(), Times(last + timedelta(hours=1)))()
    mails = {str(mail["To"]).rpartition("<")[2].rstrip(">").removesuffix(_AT): mail for mail in server.inbox.mails}
    assert " ".join(sorted(mails)) == cause.told
    for name, mail in mails.items():
        language = Language.KISWAHILI if name in (*_SWAHILI, "new") else Language.ENGLISH
        assert mail["Content-Language"] == language
        words = Translator(language, letter.PACKAGE)
        assert words("Hello,")[:4] in text_of(mail)[:5]
        assert "{" not in str(mail["Subject"]) + text_of(mail)
        parts = KIND_WORDS[cause.kind]
        beginnings = [words(each).partition("{")[0] for each in (parts.subject, parts.subject_of_many) if each]
        assert any(str(mail["Subject"]).startswith(each) for each in beginnings)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
async def test_a_cause_whose_commit_fails_leaves_no_message_and_a_message_that_fails_no_cause(
    office: Office, cause: Cause
) -> None:
    act = await cause.make_ready(office)
    await office.forget_messages()
    before = await _value(office, cause.stored)

    async with office.database.begin() as tx:
        await tx.execute(
            """
            CREATE FUNCTION refuse_messages() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
            CREATE CONSTRAINT TRIGGER refuse_messages AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION refuse_messages();
            """
        )
    try:
        with pytest.raises(asyncpg.PostgresError, match="refused at the commit"):
            await act(office)
    finally:
        async with office.database.begin() as tx:
            await tx.execute("DROP FUNCTION refuse_messages CASCADE")

    assert await rows(office.database) == []
    assert await _value(office, cause.stored) == before
    await act(office)
    assert len(await rows(office.database)) > 0
    assert await _value(office, cause.stored) != before or cause.stored == "SELECT 1"


def test_every_kind_has_a_cause() -> None:
    assert {cause.kind for cause in CAUSES.values()} == set(KINDS)


@pytest.mark.parametrize("name", ["a batch", "failed payouts", "a dead endpoint", "a batch with failures"])
async def test_people_who_switched_a_message_off_do_not_get_it(office: Office, name: str) -> None:
    cause = CAUSES[name]
    await office.choose("neema", cause.kind, is_wanted=False)
    act = await cause.make_ready(office)
    await office.forget_messages()

    await act(office)

    assert " ".join(sorted(row["address"].removesuffix(_AT) for row in await rows(office.database))) == (
        cause.told.replace("neema", "").strip()
    )


async def test_what_is_about_safety_cannot_be_switched_off(office: Office) -> None:
    await office.choose("asha", MessageKind.KEY_CREATED, is_wanted=False)

    await (await _key(office))(office)

    assert "asha" + _AT in {row["address"] for row in await rows(office.database)}


async def test_what_happens_often_is_one_message(office: Office, server: RunningServer) -> None:
    now = clock.now()
    for _ in range(3):
        await office.batches.make(2, requester=office.requester("asha"))
        await office.payments.ended(Type.DISBURSEMENT, Status.FAILED, 1000)
        await office.number()

    server.inbox.mails.clear()
    await sender(office.database, server.at(), Times(now))()
    assert server.inbox.mails == [], "both are gathered"
    await sender(office.database, server.at(), Times(now + timedelta(minutes=3)))()
    assert {str(mail["Subject"]) for mail in server.inbox.mails} == {
        "3 batches of payouts await approval",
        "Makundi 3 ya malipo yanasubiri idhini",
    }
    server.inbox.mails.clear()
    await sender(office.database, server.at(), Times(now + timedelta(minutes=16)))()
    assert {str(mail["Subject"]) for mail in server.inbox.mails} == {
        "3 payouts have failed",
        "Malipo 3 yameshindikana",
    }


async def _value(office: Office, sql: str) -> Any:
    async with office.database.read() as connection:
        return await connection.fetchval(sql)


async def _found(office: Office, name: str) -> Person:
    async with office.database.read() as connection:
        person = await people.find(connection, office.people[name].id)
    assert person is not None
    return person
