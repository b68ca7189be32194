"""/dashboard: forms that were forged by another site are refused and change nothing."""

import re

import pytest

from malipo.accounts.signed_cookies import Cookies
from malipo.dashboard import csrf
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, surfing

FORGED = {
    "no token": ("", {}),
    "a token of nobody's": ("0" * 64, {}),
    "a token that is no token": ("ÿ\x00", {}),
    "a mask without a token": ("ab" * 64, {}),
    "half a token": ("ab" * 63 + "a", {}),
    "from another site": (None, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}),
    "from another port": (None, {"Origin": "http://127.0.0.1:1"}),
    "from a frame without a name": (None, {"Origin": "null", "Sec-Fetch-Site": ""}),
    "from another site that does not say which": (None, {"Origin": "", "Sec-Fetch-Site": "cross-site"}),
}


@pytest.mark.parametrize(("token", "headers"), FORGED.values(), ids=FORGED)
async def test_a_forged_form_is_refused_and_changes_nothing(
    business: Business, token: str | None, headers: dict[str, str]
) -> None:
    await business.surfer.log_in(business.owner.email)
    out = await business.surfer.post("/dashboard/logout", token=token, headers=headers)
    assert out.status == 403
    assert "malipo_session" not in out.cookies
    language = await business.surfer.post("/dashboard/language", {"language": "sw"}, token=token, headers=headers)
    assert language.status == 403
    assert "malipo_language" not in language.cookies
    assert await business.is_in()


async def test_a_token_of_another_session_is_worth_nothing(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    async with surfing(business.surfer.url, seen_from=business.address) as other:
        await other.log_in(business.owner.email)
        assert other.token != business.surfer.token
        assert (await business.surfer.post("/dashboard/logout", token=other.token)).status == 403
    assert await business.is_in()


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null", "Sec-Fetch-Site": ""}])
async def test_nobody_is_logged_in_by_another_site(business: Business, headers: dict[str, str]) -> None:
    fields = {"email": business.owner.email, "password": PASSWORD}
    assert (await business.surfer.post("/dashboard/login", fields, headers=headers)).status == 403
    assert await business.sessions() == []


async def test_no_two_pages_of_a_session_have_the_same_token(business: Business) -> None:
    """Else the lengths of compressed pages tell it, a letter at a time."""
    await business.surfer.log_in(business.owner.email)
    pages = [(await business.surfer.get("/dashboard")).text for _ in range(3)]
    tokens = [set(re.findall(r'name="token" value="(\w+)"', page)) for page in pages]
    assert [len(each) for each in tokens] == [1, 1, 1], "one for all forms of a page"
    assert len(set.union(*tokens)) == 3
    halves = {each[at : at + 64] for each in set.union(*tokens) for at in (0, 64)}
    assert len(halves) == 6, "neither half of one is in another"


def test_a_masked_token_is_the_token_and_one_from_before_is_itself() -> None:
    cookies = Cookies("a secret that nobody knows, of the tests")
    token = cookies.form_token("ses_1")
    for shown in (token, csrf.masked(token), csrf.masked(token)):
        csrf.check_token(cookies, "ses_1", shown)
        with pytest.raises(csrf.ForgedForm):
            csrf.check_token(cookies, "ses_2", shown)
