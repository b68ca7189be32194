"""Customers do whatever they like, many at once and in several processes, while networks answer late, twice or wrongly:
a link is never paid more often than it may be without saying so, and no shilling that came by it is lost."""

import asyncio
import contextlib
import random
from dataclasses import dataclass, field

import pytest

from malipo.errors import Refusal
from malipo.links.link import Link
from malipo.links.press import PressResult
from malipo.links.store import links
from malipo.links.store.links import IS_PAID
from malipo.networks.connector import Verdict
from malipo.outbox.event import Event
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Transaction
from tests.journeys import database_facts
from tests.links.link_steps import LinkSteps
from tests.links.link_steps import steps as steps

PHONES = [f"+25575400{number:04d}" for number in range(24)]  # More than the limits of prompts keep busy.
ROUNDS = 40


@dataclass
class Crowd:
    desks: list[LinkSteps]  # each a process
    links: list[Link]
    chance: random.Random
    pressed: dict[tuple[str, str], str] = field(default_factory=dict)  # the page of a number at a link

    async def act(self) -> None:
        desk, link = self.chance.choice(self.desks), self.chance.choice(self.links)
        acts = (
            [self._press] * 6 + [self._race] * 2 + [self._send, self._answer] * 4 + [self._contradict, self._count] * 2
        )
        act = self.chance.choice([*acts, self._cancel, self._expire, self._end_prompts])
        with contextlib.suppress(Refusal):  # An answer like any other: what is true is looked at in the end.
            await act(desk, link)

    async def _press(self, desk: LinkSteps, link: Link) -> None:
        phone = self.chance.choice(PHONES)
        page = self.pressed.get((link.id, phone))
        if page is None or self.chance.random() < 0.6:
            page = self.pressed[link.id, phone] = f"page-{self.chance.random()}"
        await desk.press(link, phone, press_id=page, may_be_second=self.chance.random() < 0.5)

    async def _race(self, desk: LinkSteps, link: Link) -> None:
        """Several numbers at once, each in another process."""
        phones = self.chance.sample(PHONES, len(self.desks))
        pressed = await asyncio.gather(
            *(each.press(link, phone) for each, phone in zip(self.desks, phones, strict=True)), return_exceptions=True
        )
        made = [each for each in pressed if isinstance(each, PressResult) and each.is_new]
        assert link.places is None or len(made) <= link.places, "one at a time"
        assert [each for each in pressed if not isinstance(each, PressResult | Refusal)] == []

    async def _send(self, desk: LinkSteps, link: Link) -> None:
        for payment in (await desk.claim()).to_send:
            await desk.report(payment, Verdict.WAITING, AnswerSource.SEND)

    async def _answer(self, desk: LinkSteps, link: Link) -> None:
        if (payment := await self._payment(desk)) is not None:
            verdict = self.chance.choice([Verdict.CONFIRMED, Verdict.CONFIRMED, Verdict.REFUSED])
            await desk.report(payment, verdict, AnswerSource.SEND)

    async def _contradict(self, desk: LinkSteps, link: Link) -> None:
        if (payment := await self._payment(desk)) is not None and payment.status.is_final:
            await desk.contradict(payment, self.chance.choice([Verdict.CONFIRMED, Verdict.REFUSED]))

    async def _payment(self, desk: LinkSteps) -> Transaction | None:
        known = [each for each in await desk.payments() if each.processing_at is not None]
        return self.chance.choice(known) if known else None

    async def _count(self, desk: LinkSteps, link: Link) -> None:
        await desk.count()

    async def _cancel(self, desk: LinkSteps, link: Link) -> None:
        await desk.cancel(link)

    async def _expire(self, desk: LinkSteps, link: Link) -> None:
        if self.chance.random() < 0.3:
            await desk.expire(link)

    async def _end_prompts(self, desk: LinkSteps, link: Link) -> None:
        await desk.end_prompts()


@pytest.mark.parametrize("seed", range(3))
async def test_no_link_is_overpaid_in_silence_and_no_money_is_lost(steps: LinkSteps, seed: int) -> None:
    others = [LinkSteps(steps.ago(0).service, steps.merchant_id) for _ in range(2)]
    made = [await steps.make() for _ in range(5)]
    made += [await steps.make(reusable=True, maxPayments=3), await steps.make(reusable=True)]
    crowd = Crowd([steps, *others], made, random.Random(seed))

    for _ in range(ROUNDS):
        await asyncio.gather(*(crowd.act() for _ in range(crowd.chance.randint(1, 5))))
    for other in others:
        await other.service.finish()
    await steps.count()

    for link in made:
        await _check(steps, link)
    await database_facts.assert_clean(steps.database)


async def _check(steps: LinkSteps, link: Link) -> None:
    async with steps.database.read() as connection:
        paid = await connection.fetch(
            f"""
            SELECT t.id, t.amount, a.late FROM transactions t
            LEFT JOIN link_attempts a ON a.merchant_id = t.merchant_id AND a.transaction_id = t.id
            LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
            WHERE t.merchant_id = $1 AND t.link_id = $2 AND {IS_PAID}
            """,
            steps.merchant_id,
            link.id,
        )
        shown = await connection.fetch("SELECT event, transaction_id FROM link_events WHERE link_id = $1", link.id)
        open_twice = await connection.fetchval(
            """
            SELECT count(*) FROM (SELECT FROM transactions WHERE link_id = $1 AND ended_at IS NULL
                                  GROUP BY phone HAVING count(*) > 1) twice
            """,
            link.id,
        )
        counted = await links.get_counted(connection, steps.merchant_id, link.id)
    in_time = [row for row in paid if row["late"] is None]
    late = {row["id"] for row in paid if row["late"] is not None}
    assert (counted.paid_count, counted.paid_amount) == (len(in_time), sum(row["amount"] for row in in_time))
    assert counted.places is None or len(in_time) <= counted.places
    assert [row["event"] for row in shown].count(Event.LINK_PAID) == (counted.paid_at is not None)
    assert late <= {row["transaction_id"] for row in shown if row["event"] == Event.LINK_LATE}
    assert open_twice == 0
