"""A browser in which somebody has logged in before cannot be locked out by others, and opens nothing by itself."""

import secrets

from malipo.accounts.tokens import hash_of
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import PASSWORD, Seen, add_person, surfing

NEW = "korosho saba mezani"


def token_of(seen: Seen) -> str:
    return seen.cookies["malipo_browser"].partition("=")[2].partition(".")[0]


async def strangers_guess(business: Business) -> None:
    """As many wrong guesses as an account has, from everywhere."""
    async with business.database.begin() as tx:
        await tx.executemany(
            "INSERT INTO login_attempts (subject, attempted_at) VALUES ($1, now())",
            [(f"email {business.owner.email}",)] * 60,
        )


async def known_hashes(business: Business) -> list[bytes]:
    async with business.database.read() as connection:
        rows = await connection.fetch("SELECT hash FROM known_browsers WHERE person_id = $1", business.owner.id)
    return [row[0] for row in rows]


async def test_strangers_cannot_lock_the_owner_out_of_a_known_browser(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    await business.surfer.post("/dashboard/logout")
    await strangers_guess(business)
    async with surfing(business.surfer.url, seen_from="10.62.0.1") as other:
        assert (await other.log_in(business.owner.email)).status == 429
    assert (await business.surfer.log_in(business.owner.email)).status == 303


async def test_a_known_browser_has_few_guesses_too(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    for n in range(5):
        assert (await business.surfer.log_in(business.owner.email, f"guess {n}")).status == 400
    assert (await business.surfer.log_in(business.owner.email)).status == 429
    async with surfing(business.surfer.url, seen_from="10.62.0.2") as other:
        assert (await other.log_in(business.owner.email)).status == 303, "it locks nobody else out"


async def test_the_cookie_is_signed_and_no_script_reads_it(business: Business) -> None:
    seen = await business.surfer.log_in(business.owner.email)
    flags = {each.strip().lower() for each in seen.cookies["malipo_browser"].split(";")[1:]}
    assert flags == {"httponly", "max-age=31536000", "path=/dashboard", "samesite=lax"}
    await strangers_guess(business)
    async with surfing(business.surfer.url, seen_from="10.62.0.3") as thief:
        forged = f"malipo_browser={token_of(seen)}.{'0' * 64}"
        entered = await thief.post(
            "/dashboard/login", {"email": business.owner.email, "password": PASSWORD}, headers={"Cookie": forged}
        )
        assert entered.status == 429
        whole = seen.cookies["malipo_browser"].partition(";")[0].replace("malipo_browser", "malipo_session")
        assert (await thief.get("/dashboard", headers={"Cookie": whole})).status == 303, "it opens nothing"


async def test_a_browser_has_another_token_after_every_log_in(business: Business) -> None:
    """So nobody can plant a token that they know."""
    first = token_of(await business.surfer.log_in(business.owner.email))
    assert await known_hashes(business) == [hash_of(first)]
    second = token_of(await business.surfer.log_in(business.owner.email))
    assert second != first
    assert await known_hashes(business) == [hash_of(second)]


async def test_two_people_of_one_browser_are_both_known(business: Business) -> None:
    email = f"juma+{secrets.token_hex(6)}@example.com"
    await add_person(business.database, business.merchant_id, email)
    await business.surfer.log_in(business.owner.email)
    await business.surfer.log_in(email)
    await strangers_guess(business)
    assert (await business.surfer.log_in(business.owner.email)).status == 303


async def test_a_browser_of_somebody_else_is_a_stranger(business: Business) -> None:
    email = f"juma+{secrets.token_hex(6)}@example.com"
    await add_person(business.database, business.merchant_id, email)
    await business.surfer.log_in(email)
    await strangers_guess(business)
    assert (await business.surfer.log_in(business.owner.email)).status == 429


async def test_a_new_password_forgets_every_browser(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    fields = {"current": PASSWORD, "password": NEW, "again": NEW}
    assert (await business.surfer.post("/dashboard/settings/password", fields)).status == 303
    assert await known_hashes(business) == []


async def test_nor_can_they_lock_out_an_operator(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.executemany(
            "INSERT INTO login_attempts (subject, attempted_at) VALUES ($1, now())", [(f"operator {asha.name}",)] * 60
        )
    other = await operator_pages.browser()
    assert (await other.log_in(asha.name)).status == 429
    assert (await asha.log_in()).status == 303
