"""A browser without a screen: keeps cookies, sends forms with their tokens, and follows nothing by itself."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import aiohttp

from malipo import clock
from malipo.db import Database
from malipo.merchants import manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from tests.cheap_hash import PASSWORD as PASSWORD
from tests.cheap_hash import cheap_hash
from tests.conftest import NOBODY

_TOKEN = re.compile(r'name="token" value="([0-9a-f]+)"')


@dataclass(frozen=True)
class Seen:
    status: int
    text: str
    headers: Any

    @property
    def to(self) -> str:
        """Where it sends the browser."""
        return str(self.headers.get("Location", ""))

    @property
    def cookies(self) -> dict[str, str]:
        """What it sets, by name, as it stands in the header."""
        return {each.partition("=")[0]: each for each in self.headers.getall("Set-Cookie", [])}

    @property
    def words(self) -> str:
        """What a reader sees of it."""
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", self.text)))


@dataclass
class Surfer:
    http: aiohttp.ClientSession
    url: str
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Seen:
        return await self._ask(method, path, headers, None)

    async def post(
        self,
        path: str,
        fields: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Seen:
        """Send a form as the page would: with the token of the page that was seen last, and from our own site.

        A header that is given as "" is left out.
        """
        pairs = [*(fields.items() if isinstance(fields, Mapping) else fields)]
        sent = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"} | dict(headers or {})
        sent = {name: value for name, value in sent.items() if value}
        return await self._ask("POST", path, sent, [("token", self.token if token is None else token), *pairs])

    async def log_in(self, email: str, password: str = PASSWORD, **fields: str) -> Seen:
        seen = await self.post("/dashboard/login", {"email": email, "password": password, **fields})
        if seen.status == 303:
            await self.get("/dashboard/no-such-page")  # whatever has a form has the token
        return seen

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str] | None, data: list[tuple[str, str]] | None
    ) -> Seen:
        sent = self.headers | dict(headers or {})
        form = aiohttp.FormData(data) if data is not None else None
        async with self.http.request(method, self.url + path, headers=sent, data=form, allow_redirects=False) as answer:
            seen = Seen(answer.status, await answer.text(errors="replace"), answer.headers)
        if found := _TOKEN.search(seen.text):
            self.token = found[1]
        return seen


@asynccontextmanager
async def surfing(url: str, *, seen_from: str | None = None, peer: str = "127.0.0.1") -> AsyncIterator[Surfer]:
    """A browser of one's own. With `seen_from` it sits behind a proxy that says so."""
    jar = aiohttp.CookieJar(unsafe=True)  # Cookies of a bare address are kept too.
    connector = aiohttp.TCPConnector(local_addr=(peer, 0))
    async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as http:
        yield Surfer(http, url, headers={"X-Forwarded-For": seen_from} if seen_from else {})


async def add_person(
    database: Database, merchant_id: str, email: str, role: Role = Role.OWNER, *, name: str = "Asha Komba"
) -> Person:
    """Somebody of the merchant's who logs in with PASSWORD."""
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant_id, email=email, name=name, role=role, actor=NOBODY, now=clock.now()
        )
        await people.set_password(tx, person.id, cheap_hash())
    return person
