"""GET /merchant/people: who works for the merchant. Emails of colleagues are not for viewers."""

import pytest

from malipo.merchants.roles import Role
from tests.api.test_login import Door
from tests.api.test_login import door as door


@pytest.mark.parametrize("role", list(Role))
async def test_a_viewer_sees_names_and_roles_and_no_email_but_their_own(door: Door, role: Role) -> None:
    owner = await door.add("neema@example.com")
    own = await door.add("asha@example.com", role)
    answer = await door.with_token(await door.token("asha@example.com"), "GET", "/merchant/people")
    assert answer.status == 200
    shown = {each["id"]: (each["email"], each["role"]) for each in answer.body["people"]}
    email = None if role is Role.VIEWER else door.own("neema@example.com")
    assert shown == {owner: (email, "owner"), own: (door.own("asha@example.com"), role)}
