"""The owner of a business with an authenticator app, and what they do with it in a browser."""

import itertools
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from malipo import clock
from malipo.accounts.second_factor import totp
from malipo.audit_log import store as audit_log
from malipo.dashboard.merchant.routes import PAGES
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, surfing

# The page that never ends comes last: where another one is open too, a test fails and does not hang.
PAGES_IN_ORDER = sorted(PAGES, key=lambda page: page.path == "/dashboard/live")
PATH = "/dashboard/settings/second-factor"
numbers = itertools.count(1)
CODE = "/dashboard/login/code"
_ENROLMENT = re.compile(r'name="enrolment" value="([^"]+)"')
_KEY = re.compile(r"<code>((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})</code>")
RECOVERY_CODES = re.compile(r"<li><code>([0-9a-z-]{19})</code></li>")


@pytest.fixture
async def app(business: Business) -> AuthenticatorApp:
    """The owner's, set up a while ago."""
    return await enrolled(business.database, business.owner.id)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def password_typed(running: Running, stack: AsyncExitStack, email: str, *, address: str | None = None) -> Surfer:
    """Another browser, at another address if none is given, in which only the code is missing."""
    number = next(numbers)
    address = address or f"10.{77 + number // 250}.{number % 250}.7"
    surfer = await stack.enter_async_context(surfing(running.url, seen_from=address))
    seen = await surfer.post("/dashboard/login", {"email": email, "password": PASSWORD})
    assert (seen.status, seen.to) == (303, f"{CODE}?next=/dashboard"), seen.words
    return surfer


async def is_in(surfer: Surfer) -> bool:
    return (await surfer.get("/dashboard")).status == 200


async def deeds(business: Business) -> list[str]:
    async with business.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=business.merchant_id, limit=200)
    return [each.action for each in found if each.action.startswith(("second_factor", "browser"))][::-1]


def shown(seen: Seen) -> tuple[str, str]:
    """The key, and the form's own copy of it."""
    key, enrolment = _KEY.search(seen.text), _ENROLMENT.search(seen.text)
    assert key, seen.words
    assert enrolment
    return key[1].replace(" ", ""), enrolment[1]


def code_of(key: str, steps: int = 0) -> str:
    return totp.code_at(key, totp.step_at(clock.now()) + steps)


async def set_up(surfer: Surfer, path: str = PATH) -> tuple[str, list[str]]:
    """The key and the recovery codes, as the pages show them."""
    key, enrolment = shown(await surfer.get(path))
    seen = await surfer.post(path, {"enrolment": enrolment, "code": code_of(key, -1)})
    assert seen.status == 201, seen.words
    return key, RECOVERY_CODES.findall(seen.text)
