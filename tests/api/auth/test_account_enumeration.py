"""A log-in does not reveal whether an email has an account."""

from malipo import clock
from malipo.merchants import manage_people, onboard
from malipo.merchants.roles import Role
from tests.api.test_login import Door
from tests.api.test_login import door as door
from tests.conftest import NOBODY, make_merchant


async def test_every_log_in_that_fails_gets_the_same_answer(door: Door) -> None:
    closed = await make_merchant(door.database)
    await door.add("known@example.com")
    await door.add("inactive@example.com", merchant=closed)
    async with door.database.begin() as tx:
        await manage_people.add_person(
            tx,
            door.merchant.id,
            email=door.own("new@example.com"),
            name="",
            role=Role.STAFF,
            actor=NOBODY,
            now=clock.now(),
        )
        await onboard.set_active(tx, closed.id, is_active=False, actor=NOBODY, now=clock.now())
    answers = [
        await door.log_in(f"{name}@example.com", "not this one")
        for name in ("known", "inactive", "new", "unknown", "@@")
    ]
    assert {(each.status, each.code, each.body["error"]) for each in answers} == {
        (401, "invalid_credentials", "The email or the password is not right.")
    }


async def test_unknown_accounts_are_throttled_as_known_ones_are(door: Door) -> None:
    await door.add("known@example.com")
    for name in ("known", "unknown"):
        said = [(await door.log_in(f"{name}@example.com", "not this one")).status for _ in range(6)]
        assert said == [401] * 5 + [429], name


async def test_an_owner_cannot_try_a_list_of_emails(door: Door) -> None:
    other = await make_merchant(door.database)
    await door.add("asha@example.com")
    for n in range(7):
        await door.add(f"taken{n}@example.com", merchant=other)
    token = await door.token("asha@example.com")

    async def invite(name: str) -> int:
        body = {"email": door.own(f"{name}@example.com"), "role": "viewer"}
        return (await door.with_token(token, "POST", "/merchant/people", body)).status

    assert [await invite(f"new{n}") for n in range(7)] == [201] * 7, "whoever adds many people is not held up"
    assert [await invite(f"taken{n}") for n in range(7)] == [409] * 5 + [429] * 2
