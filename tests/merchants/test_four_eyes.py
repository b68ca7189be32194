"""One person of a merchant does not become two by inviting another, or by resetting another's password or second factor."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import pytest

from malipo import clock
from malipo.accounts.four_eyes import COOLING_TIME
from malipo.accounts.store import second_factors
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Tx
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants import four_eyes, issue_api_keys, manage_people, second_factor
from malipo.merchants.api_keys import Environment, KeyTerms, NewKey, Permission
from malipo.merchants.change_api_key import KeyChanges, change_key
from malipo.merchants.password_links import make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches.approve import MerchantsPersonRequired, SecondPersonRequired, SecondPersonWaits
from malipo.payments.batches.batch import Requester
from malipo.payments.transaction import Type
from tests.conftest import Merchant, make_merchant
from tests.dashboard.page_client import add_person
from tests.operators.booking_steps import give_password, hire
from tests.payments.batches.batch_steps import BatchSteps
from tests.payments.payment_steps import PaymentSteps

OPERATOR = Actor("operator juma", "test")


@dataclass
class Shop(BatchSteps):
    """asha, neema and rehema are owners of long standing; baraka is of the staff."""

    async def person(self, name: str) -> Person:
        async with self.database.read() as connection:
            found = await people.find_by_email(connection, self.email(name))
        assert found is not None
        return found

    def email(self, name: str) -> str:
        return f"{name}+{self.merchant_id[-12:]}@duka.example"

    def actor(self, name: str) -> Actor:
        return Actor(self.email(name), "10.0.0.1")

    def requester(self, name: str) -> Requester:
        return Requester(self.email(name), self.email(name), self.actor(name))

    async def are_two(self, maker: str, approver: str) -> bool:
        """Whether one approves what the other made. What is refused pays nothing."""
        batch = await self.make(2, requester=self.requester(maker))
        try:
            await self.approve(batch, self.requester(approver))
        except SecondPersonWaits:
            assert (await self.look(batch)).batch.approved_at is None
            return False
        return True

    async def vouch(self, name: str, *, by: str) -> None:
        person, voucher = await self.person(name), await self.person(by)
        async with self.database.begin() as tx:
            await four_eyes.vouch(tx, person, voucher, actor=self.actor(by), now=clock.now())


@pytest.fixture
async def shop(service: Service) -> Shop:
    merchant: Merchant = await make_merchant(service.queries.database, wallet=10_000_000)
    shop = Shop(service, merchant.id)
    for name in ("asha", "neema", "rehema"):
        await add_person(service.queries.database, merchant.id, shop.email(name))
    await add_person(service.queries.database, merchant.id, shop.email("baraka"), Role.STAFF)
    return shop


async def invite(shop: Shop, name: str, *, by: Actor, now: datetime | None = None) -> None:
    """A new account, whose link `by` has."""
    now = now or clock.now()
    async with shop.database.begin() as tx:
        person = await manage_people.add_person(
            tx, shop.merchant_id, email=shop.email(name), name=name, role=Role.OWNER, actor=by, now=now
        )
        await make_link(tx, person, actor=by, now=now)


async def give_link(shop: Shop, name: str, *, by: Actor, now: datetime | None = None) -> None:
    async with shop.database.begin() as tx:
        await make_link(tx, await shop.person(name), actor=by, now=now or clock.now())


async def reset_second_factor(shop: Shop, name: str, *, by: Actor, now: datetime | None = None) -> None:
    person = await shop.person(name)
    async with shop.database.begin() as tx:
        await second_factors.insert(tx, person.id, b"encrypted", used_step=1, now=clock.now())
        await second_factor.reset(tx, person, actor=by, now=now or clock.now())


class Help(Protocol):
    """What one does for another."""

    async def __call__(self, shop: Shop, name: str, *, by: Actor, now: datetime | None = None) -> None: ...


HELPS: list[tuple[Help, str]] = [(invite, "colleague"), (give_link, "baraka"), (reset_second_factor, "baraka")]


@pytest.mark.parametrize(("help_", "name"), HELPS)
@pytest.mark.parametrize("by", ["asha", "operator"])
async def test_whoever_was_invited_or_reset_is_neither_of_the_two(shop: Shop, help_: Help, name: str, by: str) -> None:
    await help_(shop, name, by=OPERATOR if by == "operator" else shop.actor(by))
    assert not await shop.are_two(name, "asha"), "as the maker"
    assert not await shop.are_two("asha", name), "as the approver"
    assert not await shop.are_two("neema", name), "also with somebody who had no part in it"
    assert await shop.are_two("asha", "neema"), "the others are two as before"


@pytest.mark.parametrize(("help_", "name"), HELPS)
async def test_an_owner_who_had_no_part_in_it_vouches_and_then_they_are_two(shop: Shop, help_: Help, name: str) -> None:
    await help_(shop, name, by=shop.actor("asha"))
    for voucher in ("asha", "baraka"):
        with pytest.raises(four_eyes.NotAParty):
            await shop.vouch(name, by=voucher)
    await shop.vouch(name, by="neema")
    assert await shop.are_two(name, "asha")
    async with shop.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=shop.merchant_id, limit=50)
    [deed] = [each for each in found if each.action == "person.vouched_for"]
    assert (deed.actor, deed.details["email"]) == (shop.email("neema"), shop.email(name))
    assert deed.details["resets_by"] == [shop.email("asha")]
    with pytest.raises(four_eyes.NothingOpen):
        await shop.vouch(name, by="neema")


async def test_owners_whom_one_has_made_vouch_for_nobody(shop: Shop) -> None:
    """asha could be all three."""
    await invite(shop, "one", by=shop.actor("asha"))
    await invite(shop, "two", by=shop.actor("asha"))
    with pytest.raises(four_eyes.NotAParty):
        await shop.vouch("one", by="two")
    assert not await shop.are_two("one", "two")


@pytest.mark.parametrize("is_vouched_for_between", [False, True])
@pytest.mark.parametrize("is_removed_between", [False, True])
async def test_no_owner_vouches_for_whom_they_invited_by_way_of_another_account(
    shop: Shop, is_vouched_for_between: bool, is_removed_between: bool
) -> None:
    """asha invites one, and as one invites two: asha has both links. That neema vouches for one meanwhile, or that one
    is removed, changes nothing."""
    await invite(shop, "one", by=shop.actor("asha"))
    await invite(shop, "two", by=shop.actor("one"))
    if is_vouched_for_between:
        await shop.vouch("one", by="neema")
    if is_removed_between:
        one = await shop.person("one")
        async with shop.database.begin() as tx:
            await manage_people.remove_person(tx, one, actor=shop.actor("asha"), now=clock.now())
    with pytest.raises(four_eyes.NotAParty):
        await shop.vouch("two", by="asha")
    assert not await shop.are_two("asha", "two")
    await shop.vouch("two", by="rehema")
    assert await shop.are_two("asha", "two")


async def test_whoever_made_the_link_does_not_vouch_for_a_later_reset_by_another(shop: Shop) -> None:
    await give_link(shop, "baraka", by=shop.actor("asha"))
    await reset_second_factor(shop, "baraka", by=shop.actor("neema"))
    for voucher in ("asha", "neema"):
        with pytest.raises(four_eyes.NotAParty):
            await shop.vouch("baraka", by=voucher)
    await shop.vouch("baraka", by="rehema")
    assert await shop.are_two("baraka", "asha")


async def test_where_nobody_vouches_72_hours_are_enough_and_not_less(shop: Shop) -> None:
    assert timedelta(hours=72) == COOLING_TIME
    await give_link(shop, "baraka", by=shop.actor("asha"), now=clock.now() - COOLING_TIME + timedelta(minutes=1))
    assert not await shop.are_two("baraka", "asha")
    async with shop.database.begin() as tx:
        await tx.execute(
            "UPDATE credential_resets SET reset_at = reset_at - interval '1 minute' WHERE merchant_id = $1",
            shop.merchant_id,
        )
    assert await shop.are_two("baraka", "asha")


async def test_an_account_that_made_a_batch_and_was_removed_is_no_second_person_either(shop: Shop) -> None:
    """asha invites a colleague, makes a batch as them, removes them, and approves it."""
    await invite(shop, "colleague", by=shop.actor("asha"))
    batch = await shop.make(2, requester=shop.requester("colleague"))
    person = await shop.person("colleague")
    async with shop.database.begin() as tx:
        await manage_people.remove_person(tx, person, actor=shop.actor("asha"), now=clock.now())
    with pytest.raises(SecondPersonWaits):
        await shop.approve(batch, shop.requester("asha"))


async def test_a_key_counts_as_who_made_it_also_here(shop: Shop) -> None:
    """Also a key from before the reset, which goes on working else."""
    key = await key_of(shop, shop.actor("neema"))
    await give_link(shop, "neema", by=shop.actor("asha"))
    batch = await shop.make(2, requester=shop.requester("asha"))
    with pytest.raises(SecondPersonWaits):
        await shop.approve(batch, key)


async def key_of(shop: Shop, actor: Actor, *permissions: Permission) -> Requester:
    """A key that may do these, or everything, made by this one."""
    async with shop.database.begin() as tx:
        key = await _key(shop, tx, actor, *(permissions or Permission))
    return Requester(key.id, key.created_by)


async def _key(shop: Shop, tx: Tx, actor: Actor, *permissions: Permission, **limits: Any) -> NewKey:
    return await issue_api_keys.create_key(
        tx,
        shop.merchant_id,
        KeyTerms(name="everything", permissions=permissions, environment=Environment.LIVE, brand="mlp", **limits),
        actor=actor,
        now=clock.now(),
    )


async def remove(shop: Shop, tx: Tx, actor: Actor) -> None:
    await manage_people.remove_person(tx, await shop.person("asha"), actor=actor, now=clock.now())


async def lower(shop: Shop, tx: Tx, actor: Actor) -> None:
    await manage_people.change_role(tx, await shop.person("asha"), Role.VIEWER, actor=actor, now=clock.now())


async def raise_(shop: Shop, tx: Tx, actor: Actor) -> None:
    await manage_people.change_role(tx, await shop.person("baraka"), Role.OWNER, actor=actor, now=clock.now())


async def allow(shop: Shop, tx: Tx, actor: Actor) -> None:
    await manage_people.allow_approval(tx, await shop.person("baraka"), True, actor=actor, now=clock.now())


async def link(shop: Shop, tx: Tx, actor: Actor) -> None:
    """With it they would set the password, and shut the owner out."""
    await make_link(tx, await shop.person("asha"), actor=actor, now=clock.now())


async def pay(shop: Shop, tx: Tx, actor: Actor) -> None:
    await _key(shop, tx, actor, Permission.PAYMENTS_CREATE, Permission.PAYMENTS_READ)


async def disburse(shop: Shop, tx: Tx, actor: Actor) -> None:
    await _key(shop, tx, actor, Permission.PAYMENTS_DISBURSE)


async def approve(shop: Shop, tx: Tx, actor: Actor) -> None:
    await _key(shop, tx, actor, Permission.PAYOUTS_APPROVE)


async def raise_limit(shop: Shop, tx: Tx, actor: Actor) -> None:
    """Of a key that the shop has had for long."""
    await _change(shop, tx, actor, KeyChanges(daily_payout_limit=20_000))


async def take_limit_away(shop: Shop, tx: Tx, actor: Actor) -> None:
    await _change(shop, tx, actor, KeyChanges(payout_limit=None))


async def _change(shop: Shop, tx: Tx, actor: Actor, changes: KeyChanges) -> None:
    key = await _key(
        shop, tx, shop.actor("asha"), Permission.PAYMENTS_DISBURSE, payout_limit=5000, daily_payout_limit=9000
    )
    await change_key(tx, shop.merchant_id, key.id, changes, actor=actor, now=clock.now())


async def narrow(shop: Shop, tx: Tx, actor: Actor) -> None:
    narrower = KeyChanges(name="Till 2", payout_limit=4000, daily_payout_limit=8000)
    await _change(shop, tx, actor, narrower)


async def free_what_pays_nothing(shop: Shop, tx: Tx, actor: Actor) -> None:
    key = await _key(shop, tx, shop.actor("asha"), Permission.PAYMENTS_COLLECT, payout_limit=5000)
    await change_key(tx, shop.merchant_id, key.id, KeyChanges(payout_limit=None), actor=actor, now=clock.now())


Way = Callable[[Shop, Tx, Actor], Awaitable[None]]
AROUND: list[Way] = [remove, lower, raise_, allow, link, pay, disburse, approve, raise_limit, take_limit_away]
HARMLESS: list[Way] = [narrow, free_what_pays_nothing]


async def go(shop: Shop, way: Way, name: str) -> None:
    async with shop.database.begin() as tx:
        await way(shop, tx, shop.actor(name))


@pytest.mark.parametrize("way", AROUND)
async def test_whoever_waits_gets_around_it_by_nothing_that_one_person_does(shop: Shop, way: Way) -> None:
    await give_link(shop, "neema", by=OPERATOR)
    with pytest.raises(four_eyes.NotVouchedFor):
        await go(shop, way, "neema")
    await shop.vouch("neema", by="rehema")
    await go(shop, way, "neema")


@pytest.mark.parametrize("way", HARMLESS)
async def test_whoever_waits_may_narrow_a_key_and_change_one_that_pays_nothing(shop: Shop, way: Way) -> None:
    await give_link(shop, "neema", by=OPERATOR)
    await go(shop, way, "neema")


@pytest.mark.parametrize("way", AROUND)
async def test_after_72_hours_they_act_as_others_do(shop: Shop, way: Way) -> None:
    await give_link(shop, "neema", by=OPERATOR, now=clock.now() - COOLING_TIME)
    await go(shop, way, "neema")


async def test_whoever_waits_makes_keys_that_only_read_and_removes_staff(shop: Shop) -> None:
    await give_link(shop, "neema", by=OPERATOR)
    await key_of(shop, shop.actor("neema"), Permission.PAYMENTS_READ, Permission.WEBHOOKS_MANAGE)
    async with shop.database.begin() as tx:
        await manage_people.remove_person(tx, await shop.person("baraka"), actor=shop.actor("neema"), now=clock.now())


async def test_the_first_owner_of_a_merchant_makes_the_first_key_at_once(service: Service) -> None:
    shop = Shop(service, (await make_merchant(service.queries.database)).id)
    await first_owner(shop, by=OPERATOR)
    await key_of(shop, shop.actor("asha"))


async def first_owner(shop: Shop, *, by: Actor) -> None:
    await invite(shop, "asha", by=by)
    async with shop.database.begin() as tx:
        await people.set_password(tx, (await shop.person("asha")).id, "hash")


@pytest.mark.parametrize("what", ["a top-up", "an open collection", "a wallet that was emptied"])
async def test_the_first_owner_of_a_merchant_with_money_waits(service: Service, what: str) -> None:
    """One operator adds an owner to a merchant that has only keys, logs in as them, and makes a key."""
    merchant = await make_merchant(service.queries.database, wallet=0 if what == "an open collection" else 10_000)
    shop = Shop(service, merchant.id)
    if what == "an open collection":
        await PaymentSteps(service, merchant.id).open(Type.COLLECTION, 9_000_000)
    if what == "a wallet that was emptied":
        async with service.queries.database.begin() as tx:
            await book(tx, BookingKind.SETTLEMENT, merchant.id, 10_000, reference="NMB-1", now=clock.now())
    await first_owner(shop, by=OPERATOR)
    with pytest.raises(four_eyes.NotVouchedFor):
        await key_of(shop, shop.actor("asha"))
    async with shop.database.read() as connection:
        assert await four_eyes.find_not_paying(connection, merchant.id, now=clock.now()) == {shop.email("asha")}


async def test_whoever_installs_says_who_the_first_people_are_also_of_a_merchant_with_money(service: Service) -> None:
    shop = Shop(service, (await make_merchant(service.queries.database, wallet=10_000)).id)
    await first_owner(shop, by=Actor("user root", "test"))
    await key_of(shop, shop.actor("asha"))


@dataclass
class FirstPeople:
    """A merchant without money, and the links of its first people, which operator juma has made."""

    shop: Shop
    links: dict[str, str]

    async def use(self, name: str, *, now: datetime | None = None) -> None:
        await self.shop.service.accounts.login.use_link(
            self.links[name], "quiet harbour ninety lanterns", address="10.0.0.1", now=now or clock.now()
        )

    async def put_money(self) -> None:
        async with self.shop.database.begin() as tx:
            await book(tx, BookingKind.TOP_UP, self.shop.merchant_id, 50_000_000, reference="NMB-1", now=clock.now())

    async def waiting(self) -> set[str]:
        return {email.partition("+")[0] for email in await not_paying(self.shop)}


@pytest.fixture
async def first_people(service: Service) -> FirstPeople:
    shop = Shop(service, (await make_merchant(service.queries.database, wallet=0)).id)
    await hire(service.queries.database, "asha", "juma")
    links = {}
    async with service.queries.database.begin() as tx:
        for name in ("asha", "baraka"):
            person = await manage_people.add_person(
                tx,
                shop.merchant_id,
                email=shop.email(name),
                name=name,
                role=Role.OWNER,
                actor=OPERATOR,
                now=clock.now(),
            )
            links[name] = await make_link(tx, person, actor=OPERATOR, now=clock.now())
    return FirstPeople(shop, links)


async def test_a_link_of_a_first_person_that_is_used_when_money_has_come_counts_as_made_then(
    first_people: FirstPeople,
) -> None:
    """An operator keeps it until the merchant has money."""
    await first_people.put_money()
    await first_people.use("baraka", now=clock.now() + timedelta(hours=23))
    assert await first_people.waiting() == {"baraka"}
    await vouch_as(first_people.shop, "baraka", "asha")
    assert await first_people.waiting() == set()


async def test_a_first_persons_link_that_is_used_when_another_can_log_in_counts_as_made_then(
    first_people: FirstPeople,
) -> None:
    await first_people.use("asha")
    assert await first_people.waiting() == set(), "the first one says who the people are"
    await first_people.use("baraka")
    assert await first_people.waiting() == {"baraka"}
    await first_people.shop.vouch("baraka", by="asha")
    assert await first_people.waiting() == set()


async def test_what_was_noted_when_a_link_was_made_is_not_noted_again_when_it_is_used(shop: Shop) -> None:
    """neema has vouched for it meanwhile."""
    await hire(shop.database, "asha", "juma")
    async with shop.database.begin() as tx:
        made = await make_link(tx, await shop.person("baraka"), actor=OPERATOR, now=clock.now())
    await shop.vouch("baraka", by="neema")
    await FirstPeople(shop, {"baraka": made}).use("baraka")
    assert await not_paying(shop) == set()


async def not_paying(shop: Shop) -> set[str]:
    async with shop.database.read() as connection:
        return await four_eyes.find_not_paying(connection, shop.merchant_id, now=clock.now())


async def let_one_approve(shop: Shop) -> None:
    async with shop.database.begin() as tx:
        await approval_rules.save(tx, shop.merchant_id, ApprovalRules(takes_two=False, above=None))


@pytest.mark.parametrize(("help_", "name"), HELPS)
async def test_whom_an_operator_has_invited_or_reset_approves_nothing_where_one_is_enough(
    shop: Shop, help_: Help, name: str
) -> None:
    await let_one_approve(shop)
    await help_(shop, name, by=OPERATOR)
    batch = await shop.make(2, requester=shop.requester(name))
    with pytest.raises(four_eyes.NotVouchedFor):
        await shop.approve(batch, shop.requester(name))
    assert (await shop.look(batch)).batch.approved_at is None
    await shop.vouch(name, by="neema")
    await shop.approve(batch, shop.requester(name))


@pytest.mark.parametrize(("help_", "name"), HELPS)
async def test_whom_an_owner_has_invited_or_reset_approves_at_once_where_one_is_enough(
    shop: Shop, help_: Help, name: str
) -> None:
    """The owner could pay it out too, so nothing is gained by the account."""
    await let_one_approve(shop)
    await help_(shop, name, by=shop.actor("asha"))
    assert await not_paying(shop) == set()
    await shop.approve(await shop.make(2, requester=shop.requester(name)), shop.requester(name))


async def test_an_account_that_such_a_person_has_invited_pays_out_nothing_either(shop: Shop) -> None:
    """That somebody vouches for the first account says nothing about the second."""
    await give_link(shop, "asha", by=OPERATOR)
    await invite(shop, "one", by=shop.actor("asha"))
    await invite(shop, "two", by=shop.actor("one"))
    assert await not_paying(shop) == {shop.email(name) for name in ("asha", "one", "two")}
    await shop.vouch("asha", by="neema")
    assert await not_paying(shop) == {shop.email(name) for name in ("one", "two")}


async def test_a_key_from_before_the_reset_approves_where_one_is_enough(shop: Shop) -> None:
    await let_one_approve(shop)
    key = await key_of(shop, shop.actor("neema"))
    await give_link(shop, "neema", by=OPERATOR)
    await shop.approve(await shop.make(2, requester=key), key)


async def vouch_as(shop: Shop, name: str, operator: str) -> None:
    person = await shop.person(name)
    async with shop.database.begin() as tx:
        await four_eyes.vouch_as_operator(tx, person, actor=operator_at(operator, "till"), now=clock.now())


@pytest.mark.parametrize(("help_", "name"), HELPS)
async def test_another_operator_vouches_for_what_an_operator_did(shop: Shop, help_: Help, name: str) -> None:
    """A merchant with one person works on, if two operators agree."""
    await hire(shop.database, "asha", "juma")
    await help_(shop, name, by=OPERATOR)
    with pytest.raises(four_eyes.NotAnotherOperator):
        await vouch_as(shop, name, "juma")
    await vouch_as(shop, name, "asha")
    assert await not_paying(shop) == set()
    assert await shop.are_two(name, "asha")
    async with shop.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=shop.merchant_id, limit=50)
    [deed] = [each for each in found if each.action == "person.vouched_for"]
    assert (deed.actor, deed.details["email"]) == ("operator asha", shop.email(name))
    with pytest.raises(four_eyes.NothingOpen):
        await vouch_as(shop, name, "asha")


async def test_one_operator_is_not_two_by_way_of_another_whom_they_have_reset(shop: Shop) -> None:
    """juma sets asha's password. As asha he vouches for his own link; or makes the link as asha, and vouches himself."""
    await hire(shop.database, "asha", "juma", "neema")
    await give_password(shop.database, "asha", by=OPERATOR)
    await give_link(shop, "baraka", by=OPERATOR)
    await give_link(shop, "neema", by=operator_at("asha", "till"))
    for name, operator in (("baraka", "asha"), ("neema", "asha"), ("neema", "juma")):
        with pytest.raises(four_eyes.NotAnotherOperator):
            await vouch_as(shop, name, operator)
    for name in ("baraka", "neema"):
        await vouch_as(shop, name, "neema")


async def test_operators_do_not_vouch_for_whom_an_owner_has_invited(shop: Shop) -> None:
    """What takes two people of a merchant is not for operators to decide."""
    await hire(shop.database, "asha", "juma")
    await invite(shop, "colleague", by=shop.actor("asha"))
    with pytest.raises(four_eyes.NothingOpen):
        await vouch_as(shop, "colleague", "asha")
    await reset_second_factor(shop, "colleague", by=OPERATOR)
    await vouch_as(shop, "colleague", "asha")
    assert await not_paying(shop) == set()
    assert not await shop.are_two("colleague", "neema"), "what the owner did stays open"


@pytest.mark.parametrize("maker", [OPERATOR, Actor("user root", "test")])
async def test_keys_that_operators_made_are_no_two_people_to_a_merchant(shop: Shop, maker: Actor) -> None:
    """Operator asha has set juma's password, and makes a key with each name. The merchant sees two names."""
    one, other = await key_of(shop, maker), await key_of(shop, Actor("operator asha", "test"))
    for made, approves in ((one, other), (other, one)):
        batch = await shop.make(2, requester=made)
        with pytest.raises(MerchantsPersonRequired):
            await shop.approve(batch, approves)
        assert (await shop.look(batch)).batch.approved_at is None
        await shop.approve(batch, shop.requester("neema"))


async def test_an_operators_key_and_one_of_the_merchants_are_two(shop: Shop) -> None:
    ours, theirs = await key_of(shop, OPERATOR), await key_of(shop, shop.actor("neema"))
    for made, approves in ((ours, theirs), (theirs, ours), (shop.requester("asha"), ours)):
        await shop.approve(await shop.make(2, requester=made), approves)


async def test_an_operators_key_and_a_person_whom_an_operator_has_reset_are_not_two(shop: Shop) -> None:
    await give_link(shop, "baraka", by=OPERATOR)
    batch = await shop.make(2, requester=shop.requester("baraka"))
    with pytest.raises(SecondPersonWaits):
        await shop.approve(batch, await key_of(shop, OPERATOR))


async def test_the_same_person_is_never_two_whoever_vouches(shop: Shop) -> None:
    batch = await shop.make(2, requester=shop.requester("asha"))
    with pytest.raises(SecondPersonRequired):
        await shop.approve(batch, shop.requester("asha"))


async def test_a_link_that_somebody_makes_for_themselves_changes_nothing(shop: Shop) -> None:
    await give_link(shop, "asha", by=shop.actor("asha"))
    assert await shop.are_two("neema", "asha")


async def test_the_first_people_of_a_merchant_count_at_once(service: Service) -> None:
    """Whoever takes the merchant in says who its people are. From the first password on, they do not."""
    merchant = await make_merchant(service.queries.database)
    shop = Shop(service, merchant.id)
    for name in ("asha", "neema"):
        await invite(shop, name, by=OPERATOR)
    async with service.queries.database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, merchant.id, 10_000_000, reference="NMB-1", now=clock.now())
    assert await shop.are_two("asha", "neema")
    async with shop.database.begin() as tx:
        await people.set_password(tx, (await shop.person("asha")).id, "hash")
    await invite(shop, "rehema", by=OPERATOR)
    assert not await shop.are_two("asha", "rehema")


async def test_another_merchants_resets_are_their_own(shop: Shop, service: Service) -> None:
    other = Shop(service, (await make_merchant(service.queries.database)).id)
    await add_person(service.queries.database, other.merchant_id, other.email("asha"))
    await invite(other, "neema", by=other.actor("asha"))
    async with shop.database.read() as connection:
        assert await four_eyes.find_open(connection, shop.merchant_id, now=clock.now()) == []
    with pytest.raises(four_eyes.NothingOpen):
        await shop.vouch("neema", by="asha")
