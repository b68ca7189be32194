"""Customers who open a link, type a number, press, and look what becomes of it. What they do is their habit.

They remember what pages told them. In the end each browser looks once more: the oracle holds that against the payments.
After a restore those who have not seen that it is paid come again.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from simulation.links.browser import Browser, PressReply, ShownPage
from simulation.links.merchant_links import MerchantLinks
from simulation.links.planned import PlannedCustomer, PlannedLink
from simulation.world import World

PROCESS = "customers"
_TRIES = 12
_LOOKS = 14
_LINK_LOOKS, _LINK_SECONDS = 40, 0.25  # how long they wait for the merchant to send them the link
_EAGER_PRESSES = 60
_BUSY, _TOO_MANY, _UNAVAILABLE, _INTERNAL_ERROR = 409, 429, 503, 500


@dataclass(frozen=True)
class MadePress:
    """A press that was answered with a payment, or whose answer was lost."""

    link: int
    phone: str
    press_id: str
    is_warned: bool  # the customer has confirmed that both numbers may pay
    attempt: str | None
    pressed_at: float
    told_at: float


@dataclass(frozen=True)
class SeenPage:
    link: int
    phone: str
    attempt: str
    scene: str
    at: float


class Customers:
    def __init__(self, world: World, merchants: MerchantLinks, links: Sequence[PlannedLink], seed: int) -> None:
        self._world = world
        self.merchants = merchants
        self.links = links
        self._seed = seed
        self._browsers: list[tuple[PlannedLink, PlannedCustomer, Browser]] = []
        self._has_paid: set[tuple[int, str]] = set()  # who has seen that it is paid
        self.presses: list[MadePress] = []
        self.refused_presses: list[MadePress] = []  # a request that arrives again later may be taken then
        self.seen: list[SeenPage] = []
        self.last_seen: list[SeenPage] = []
        self.troubles: list[str] = []  # answers that a service must never give
        self.acts: list[tuple[float, str, str]] = []  # when, about which phone, and what

    async def come_all(self) -> None:
        await asyncio.gather(*(self._come(link, each) for link in self.links for each in link.customers))

    async def come_again_all(self) -> None:
        """After a restore: those who have not seen that it is paid."""
        await asyncio.gather(*(self._come_again(*each) for each in list(self._browsers)))

    async def look_in_the_end(self) -> None:
        self.last_seen = []
        for link, customer, browser in self._browsers:
            code = self._code_of(link)
            known = None if code is None else browser.attempt_at(code)
            if code is None or known is None:
                continue
            page = await self._open(customer, browser, code)
            if page is not None:
                seen = SeenPage(link.number, customer.phone, known, page.scene, self._world.loop.time())
                self.last_seen.append(seen)

    # What they do.

    async def _come(self, link: PlannedLink, customer: PlannedCustomer) -> None:
        await asyncio.sleep(customer.at)
        visits = [self._visit(link, customer)]
        if customer.habit == "two-browsers":
            visits.append(self._visit(link, customer))
        elsewhere = next((each for each in self.links if each.number == customer.elsewhere), None)
        if elsewhere is not None:
            visits.append(self._visit(elsewhere, customer))
        await asyncio.gather(*visits)

    async def _visit(self, link: PlannedLink, customer: PlannedCustomer) -> None:
        chance = random.Random(f"customer {self._seed} {link.number} {customer.phone} {len(self._browsers)}")
        browser = Browser(len(self._browsers), chance)
        self._browsers.append((link, customer, browser))
        for _ in range(_LINK_LOOKS):
            if (code := self._code_of(link)) is not None:
                break
            await asyncio.sleep(_LINK_SECONDS)
        else:
            return
        for _ in range(customer.tries):
            page = await self._open(customer, browser, code)
            if page is None or not page.has_form:
                return
            reply = await self._press(link, customer, browser, code, page)
            if reply.status == _TOO_MANY:
                return
            if reply.attempt is None:
                await asyncio.sleep(chance.uniform(0.2, 2))
                continue
            if customer.habit == "withdraws":
                await self._guarded(customer, "withdraws", partial(browser.withdraw, code))
            if await self._follow(link, customer, browser, code) != "not_paid":
                return

    async def _come_again(self, link: PlannedLink, customer: PlannedCustomer, browser: Browser) -> None:
        chance = random.Random(f"comes again {self._seed} {link.number} {customer.phone}")
        await asyncio.sleep(chance.choice((0.5, 4, 12)) * chance.random())
        code = self._code_of(link)
        if code is None or (link.number, customer.phone) in self._has_paid:
            return
        page = await self._open(customer, browser, code)
        if page is None or not page.has_form or page.scene == "not_paid":
            return
        reply = await self._press(link, customer, browser, code, page)
        if reply.attempt is not None:
            await self._follow(link, customer, browser, code)

    async def _press(
        self, link: PlannedLink, customer: PlannedCustomer, browser: Browser, code: str, page: ShownPage
    ) -> PressReply:
        """Press until there is an answer that is not the service's own trouble; who is eager, until nobody else is
        asked. Without an answer browsers send the same form again."""
        phone = customer.phone
        for attempt in range(_EAGER_PRESSES):
            assert page.press_id is not None
            is_second = page.has_warning and customer.habit == "another-number"
            phone = customer.other_phone if is_second else customer.phone
            count = 2 if customer.habit == "twice" else 1
            presses = (self._press_once(link, customer, browser, code, page, phone) for _ in range(count))
            replies = await asyncio.gather(*presses)
            reply = next((each for each in replies if each.attempt is not None), replies[0])
            if reply.attempt is not None or reply.status == _TOO_MANY:
                return reply
            if reply.status in (0, _UNAVAILABLE, _INTERNAL_ERROR):
                if attempt >= _TRIES:
                    return reply
                await asyncio.sleep(0.4 + attempt * 0.3)
                if customer.habit == "reloads":
                    anew = await self._open(customer, browser, code)
                    if anew is None or not anew.has_form:
                        return reply
                    page = anew
            elif reply.page is not None and reply.page.has_form and customer.habit in ("eager", "another-number"):
                if reply.page.has_warning and customer.habit == "eager":
                    return reply
                page = reply.page
                if customer.habit == "another-number":
                    await asyncio.sleep(0.6)
            else:
                return reply
        return reply

    async def _press_once(
        self, link: PlannedLink, customer: PlannedCustomer, browser: Browser, code: str, page: ShownPage, phone: str
    ) -> PressReply:
        form = {"press": page.press_id or "", "buyerPhone": f"0{phone.removeprefix('+255')}", "channel": ""}
        if link.amount is None:
            form["amount"] = str(customer.amount)
        if is_warned := phone != customer.phone:
            form["mayBeSecond"] = "yes"
        pressed_at = self._world.loop.time()
        try:
            reply = await browser.press(code, form)
        except (OSError, TimeoutError):
            reply = PressReply(0, None, None)
        made = MadePress(
            link.number, phone, form["press"], is_warned, reply.attempt, pressed_at, self._world.loop.time()
        )
        if reply.attempt is not None or reply.status in (0, _UNAVAILABLE, _INTERNAL_ERROR):
            self.presses.append(made)
        else:
            self.refused_presses.append(made)
        self._note(phone, f"presses {link.key}: {reply.status or 'no answer'} {reply.attempt or ''}".rstrip())
        if reply.status == _INTERNAL_ERROR:
            self.troubles.append(f"a press at {link.key} was answered with 500")
        return reply

    async def _follow(self, link: PlannedLink, customer: PlannedCustomer, browser: Browser, code: str) -> str:
        """How it ended, as far as they have the patience to look."""
        scene = ""
        for _ in range(_LOOKS):
            page = await self._open(customer, browser, code)
            known = browser.attempt_at(code)
            if page is not None and known is not None:
                scene = page.scene
                self.seen.append(SeenPage(link.number, customer.phone, known, scene, self._world.loop.time()))
                if scene == "paid":
                    self._has_paid.add((link.number, customer.phone))
                if scene == "in_doubt" and page.has_form and customer.habit == "another-number":
                    await self._press(link, customer, browser, code, page)
                    continue
                if page.state_path is None:
                    return scene
                if not customer.follows_state:
                    page = None
            if page is None:
                await asyncio.sleep(0.9)
            else:
                await self._guarded(customer, "follows", partial(browser.until_changed, page, code))
        return scene

    async def _open(self, customer: PlannedCustomer, browser: Browser, code: str) -> ShownPage | None:
        for attempt in range(_TRIES):
            page: ShownPage | None = await self._guarded(customer, "opens", partial(browser.open, code))
            if page is not None and page.status not in (_UNAVAILABLE, _INTERNAL_ERROR):
                self._note(customer.phone, f"opens the page: {page.status} {page.scene}".rstrip())
                return page if page.status == 200 else None
            if page is not None and page.status == _INTERNAL_ERROR:
                self.troubles.append("a page was answered with 500")
            await asyncio.sleep(0.3 + attempt * 0.3)
        return None

    async def _guarded(self, customer: PlannedCustomer, what: str, act: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """None if there was no answer."""
        try:
            return await act()
        except (OSError, TimeoutError):
            self._note(customer.phone, f"{what}: no answer")
            return None

    def _code_of(self, link: PlannedLink) -> str | None:
        codes = self.merchants.told[link.number].codes
        return codes[-1] if codes else None

    def _note(self, phone: str, what: str) -> None:
        self.acts.append((self._world.loop.time(), phone, what))
