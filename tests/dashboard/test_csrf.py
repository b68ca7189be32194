"""/dashboard: forms that were forged by another site are refused and change nothing."""

import pytest

from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, surfing

FORGED = {
    "no token": ("", {}),
    "a token of nobody's": ("0" * 64, {}),
    "a token that is no token": ("ÿ\x00", {}),
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
