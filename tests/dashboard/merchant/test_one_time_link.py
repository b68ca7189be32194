"""/dashboard: a one-time link lets a person choose a password once."""

import pytest

from malipo import clock
from malipo.merchants.password_links import make_link
from tests.conftest import NOBODY
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.business import nobody as nobody
from tests.dashboard.page_client import Surfer, surfing


async def _link(business: Business) -> str:
    async with business.database.begin() as tx:
        return await make_link(tx, business.owner, actor=NOBODY, now=clock.now())


async def test_a_one_time_link_lets_a_person_choose_a_password_once(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    link, new = await _link(business), "nyumba ya mbali 9"
    async with surfing(business.surfer.url, seen_from=business.address) as fresh:
        for _ in range(2):  # Looking does not use it up.
            page = await fresh.get(f"/dashboard/password?token={link}")
            assert page.status == 200
            assert business.owner.email in page.text
        fields = {"link": link, "password": new, "again": new}
        saved = await fresh.post("/dashboard/password", fields)
        assert (saved.status, saved.to) == (303, "/dashboard/login")
        assert "Your password is saved." in (await fresh.get("/dashboard/login")).words
        again = await fresh.post("/dashboard/password", fields)
        assert again.status == 400
        assert "This link was used already, or is too old." in again.words
        assert not await business.is_in(), "whoever was logged in with the old one is out"
        assert (await fresh.log_in(business.owner.email)).status == 400
        assert (await fresh.log_in(business.owner.email, new)).status == 303


WEAK = [
    ("short", "short", "At least 10 characters"),
    ("aaaaaaaaaaaa", "aaaaaaaaaaaa", "Too easy to guess: it repeats itself."),
    ("0754000100", "0754000100", "do not belong together. Strength: 1 of 4; it needs 3."),
    ("password123", "password123", "Too easy to guess: it is like one that many people use."),
    ("nyumba ya mbali 9", "nyumba ya mbali", "This is not the same password."),
]


@pytest.mark.parametrize(("password", "again", "sentence"), WEAK)
async def test_a_password_that_will_not_do_leaves_the_link_as_it_was(
    business: Business, password: str, again: str, sentence: str
) -> None:
    link = await _link(business)
    seen = await business.surfer.post("/dashboard/password", {"link": link, "password": password, "again": again})
    assert seen.status == 400
    assert sentence in seen.words
    assert 'aria-invalid="true"' in seen.text
    assert f'value="{password}"' not in seen.text
    assert (await business.surfer.get(f"/dashboard/password?token={link}")).status == 200
    assert (await business.surfer.log_in(business.owner.email)).status == 303, "the old one still works"


@pytest.mark.parametrize("link", ["", "mpl_never", "%00", "%FF%FE", "x" * 4000])
async def test_a_link_that_is_none_says_so_and_shows_no_form(nobody: Surfer, link: str) -> None:
    seen = await nobody.get(f"/dashboard/password?token={link}")
    assert seen.status == 400
    assert "This link was used already, or is too old." in seen.words
    assert 'type="password"' not in seen.text
