"""A customer's browser: it keeps the cookie of each link, sends forms as pages have them, and reads what pages say."""

import asyncio
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from simulation.http_exchange import exchange
from simulation.world import API_PORTS

_COOKIE = re.compile(r"malipo_pay=([^;]*)")
_ATTEMPT = re.compile(r"(txn_[0-9a-z]+)\.")
_PRESS = re.compile(r'name="press" value="([0-9a-zA-Z]+)"')
_LIVE = re.compile(r'data-state="([^"]+)"')
_HEADLINE = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
_SCENES = {
    "Look at your phone": "asked",
    "On its way to": "waiting",
    "We do not know yet": "in_doubt",
    "✓ Paid. Thank you!": "paid",
    "This payment was taken back": "taken_back",
    "Not paid": "not_paid",
    "This link cannot be paid": "closed",
    "Pay ": "form",
}
_REDIRECT, _MOST_SECONDS = 303, 1.5


@dataclass(frozen=True)
class ShownPage:
    status: int
    scene: str  # "": a page that is not about a payment
    press_id: str | None  # of its form, if it has one
    has_warning: bool  # the form asks to confirm that both numbers may pay
    state_path: str | None  # what its script follows

    @property
    def has_form(self) -> bool:
        return self.press_id is not None


@dataclass(frozen=True)
class PressReply:
    """What came of a press: the payment of the cookie, or a page that says why there is none."""

    status: int
    attempt: str | None
    page: ShownPage | None


class Browser:
    def __init__(self, number: int, chance: random.Random) -> None:
        self._turn = number  # Requests go to the API processes by turns.
        self._address = f"10.7.{number // 250}.{number % 250 + 1}"
        self._chance = chance
        self.cookies: dict[str, str] = {}  # by the link's code

    def attempt_at(self, code: str) -> str | None:
        """The payment that this browser has begun."""
        found = _ATTEMPT.match(self.cookies.get(code, ""))
        return None if found is None else found[1]

    async def open(self, code: str) -> ShownPage:
        """OSError or TimeoutError if no answer came."""
        status, _, text = await self._send("GET", f"/pay/{code}", code)
        return _shown(status, text)

    async def press(self, code: str, form: Mapping[str, str]) -> PressReply:
        status, cookie, text = await self._send("POST", f"/pay/{code}?lang=en", code, form)
        if status != _REDIRECT:
            return PressReply(status, None, _shown(status, text))
        assert cookie is not None, "who is led back has begun a payment"
        self.cookies[code] = cookie
        attempt = self.attempt_at(code)
        assert attempt is not None
        return PressReply(status, attempt, None)

    async def withdraw(self, code: str) -> int:
        status, _, _ = await self._send("POST", f"/pay/{code}/withdraw?lang=en", code, {})
        return status

    async def until_changed(self, page: ShownPage, code: str) -> None:
        """As the script does; without one, the page is loaded again after a while."""
        if page.state_path is None:
            await asyncio.sleep(self._chance.uniform(0.3, _MOST_SECONDS))
        else:
            await self._send("GET", page.state_path, code)

    async def _send(
        self, method: str, path: str, code: str, form: Mapping[str, str] | None = None
    ) -> tuple[int, str | None, str]:
        headers = {"Accept-Language": "en", "X-Forwarded-For": self._address}
        if code in self.cookies:
            headers["Cookie"] = f"malipo_pay={self.cookies[code]}"
        if form is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        self._turn += 1
        port = API_PORTS[self._turn % len(API_PORTS)]
        reply = await exchange(port, method, path, headers, urlencode(form or {}).encode())
        set_ = _COOKIE.match(reply.headers.get("set-cookie", ""))
        return reply.status, None if set_ is None else set_[1], reply.body.decode()


def _shown(status: int, text: str) -> ShownPage:
    headline, press, live = _HEADLINE.search(text), _PRESS.search(text), _LIVE.search(text)
    words = "" if headline is None else " ".join(headline[1].split())
    return ShownPage(
        status=status,
        scene=next((scene for begin, scene in _SCENES.items() if words.startswith(begin)), ""),
        press_id=None if press is None else press[1],
        has_warning='name="mayBeSecond"' in text,
        state_path=None if live is None else live[1],
    )
