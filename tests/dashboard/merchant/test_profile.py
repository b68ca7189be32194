"""/dashboard/settings/profile: what customers see of a business, which an owner sets."""

from io import BytesIO

import aiohttp
import pytest

from malipo.audit_log import store as audit_log
from malipo.merchants.public_profile import PublicProfile, contact_number_of, tin_of
from malipo.merchants.roles import Role
from malipo.merchants.store import public_profiles
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import Seen, add_person
from tests.table_files.hostile_pictures import SVG, picture

PATH = "/dashboard/settings/profile"
TYPED = {
    "name": "Duka la Mama Asha",
    "phone": "0754 000 100",
    "whatsapp": "+254 712 345 678",
    "email": "Asha@Example.com",
    "tin": "123-456-789",
}


async def profile_of(business: Business) -> PublicProfile:
    async with business.database.read() as connection:
        return await public_profiles.find(connection, business.merchant_id)


async def deeds(business: Business) -> list[str]:
    async with business.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=business.merchant_id, limit=20)
    return [each.action for each in found if each.action.startswith("profile.")]


async def upload(business: Business, content: bytes) -> Seen:
    """As a browser sends a file."""
    surfer = business.surfer
    await surfer.get(PATH)
    form = aiohttp.FormData()
    form.add_field("token", surfer.token)
    form.add_field("file", BytesIO(content), filename="logo.png", content_type="image/png")
    headers = surfer.headers | {"Origin": surfer.url, "Sec-Fetch-Site": "same-origin"}
    async with surfer.http.post(
        f"{surfer.url}{PATH}/logo", data=form, headers=headers, allow_redirects=False
    ) as answer:
        return Seen(answer.status, await answer.text(), answer.headers)


async def test_an_owner_sets_what_customers_see(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    assert "Duka" in (await business.surfer.get(PATH)).text, "before, it is the name of the account"
    done = await business.surfer.post(PATH, TYPED)
    assert (done.status, done.to) == (303, PATH)

    profile = await profile_of(business)
    assert (profile.shown_name, profile.other_name, profile.tin) == ("Duka la Mama Asha", "Duka", "123456789")
    contact = profile.contact
    assert (contact.phone, contact.whatsapp, contact.email) == ("+255754000100", "+254712345678", "asha@example.com")
    page = await business.surfer.get(PATH)
    assert "123-456-789" in page.text
    assert "It is saved." in page.words
    assert "Changed what customers see" in (await business.surfer.get("/dashboard/settings/activity")).words

    await business.surfer.post(PATH, TYPED)
    assert await deeds(business) == ["profile.changed"], "the same again is no deed"
    await business.surfer.post(PATH, {"name": "Duka"})
    assert (await profile_of(business)).other_name is None
    assert (await profile_of(business)).contact.phone is None


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("name", "", "Please fill this in"),
        ("name", "x" * 61, "At most 60"),
        ("phone", "123", "not a phone number"),
        ("whatsapp", "0754 00", "not a phone number"),
        ("email", "asha@", "not an email"),
        ("tin", "12345678", "A TIN has nine digits"),
    ],
)
async def test_what_is_wrong_is_said_and_nothing_is_saved(
    business: Business, field: str, typed: str, said: str
) -> None:
    await business.surfer.log_in(business.owner.email)
    seen = await business.surfer.post(PATH, TYPED | {field: typed})
    assert (seen.status, said in seen.words) == (400, True)
    assert await deeds(business) == []


async def test_a_logo_is_drawn_anew_shown_and_removed(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    done = await upload(business, picture())
    assert (done.status, done.to) == (303, f"{PATH}#logo")
    logo = (await profile_of(business)).logo
    assert logo is not None
    assert (logo.width, logo.height) == (144, 96)
    page = await business.surfer.get(PATH)
    assert f'src="/pay/logo/{logo.fingerprint}.png"' in page.text
    shown = await business.surfer.get(f"/pay/logo/{logo.fingerprint}.png")
    assert (shown.status, shown.headers["Content-Type"]) == (200, "image/png")

    await upload(business, picture())
    await business.surfer.get(PATH)
    await business.surfer.post(f"{PATH}/logo/remove")
    await business.surfer.post(f"{PATH}/logo/remove")
    assert (await profile_of(business)).logo is None
    assert await deeds(business) == ["profile.logo_removed", "profile.logo_set"]


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"", 400, "Choose a file"),
        (SVG, 400, "no picture that can be read"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 2_100_000, 413, "larger than 2 MB"),
    ],
    ids=["none", "svg", "large"],
)
async def test_what_is_no_logo_is_refused(business: Business, content: bytes, status: int, said: str) -> None:
    await business.surfer.log_in(business.owner.email)
    seen = await upload(business, content)
    assert (seen.status, said in seen.words) == (status, True)
    assert (await profile_of(business)).logo is None


@pytest.mark.parametrize("role", [Role.STAFF, Role.VIEWER])
async def test_only_owners_change_it(business: Business, role: Role) -> None:
    email = f"{role}@{business.merchant_id[-8:].lower()}.example"
    await add_person(business.database, business.merchant_id, email, role)
    await business.surfer.log_in(email)
    assert (await business.surfer.get(PATH)).status == 403
    assert (await business.surfer.post(PATH, TYPED)).status == 403
    assert (await upload(business, picture())).status == 403
    assert await deeds(business) == []


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("0754 000 100", "+255754000100"),
        ("022 212 3456", "+255222123456"),
        ("255754000100", "+255754000100"),
        ("+255 (22) 212-3456", "+255222123456"),
        ("+1 202 555 0143", "+12025550143"),
        ("00447700900123", "+447700900123"),
        ("0954000100", None),
        ("+255954000100", None),
        ("754000100", None),
        ("+12", None),
        ("0754 000 100 x", None),
    ],
)
def test_a_number_to_call_may_be_any_phone(typed: str, number: str | None) -> None:
    assert contact_number_of(typed) == number


def test_a_tin_has_nine_digits() -> None:
    typed = ("123-456-789", "123456789", "123 456 789", "12-456-789", "1234567890", "abc-def-ghi")
    assert [tin_of(each) for each in typed] == ["123456789"] * 3 + [None] * 3
