"""The use cases of links: merchants create and cancel them, customers press them."""

from malipo.clock import Clock
from malipo.db import DataError
from malipo.db.group_commit import GroupCommits, granted
from malipo.links.cancel import CancelLinks, LinkCancellation
from malipo.links.create import MadeLink, create_links
from malipo.links.link import Link
from malipo.links.link_request import LinkRequest
from malipo.links.press import PressAttempt, PressLinks, PressResult
from malipo.links.press_request import Press
from malipo.payments.initiate import InitiatedPayment
from malipo.payments.payments import Payments
from malipo.payments.store.transactions import UNIQUE_KEYS
from malipo.settings import Settings

_MOST = 64  # presses that share a commit; presses of one link are decided one after the other


class Links:
    def __init__(self, commits: GroupCommits, payments: Payments, settings: Settings, *, clock: Clock) -> None:
        self._payments = payments
        self._clock = clock
        press_links = PressLinks(
            payments.initiate_in_transaction,
            payments.terms,
            prompt_seconds=settings.link_prompt_seconds,
            clock=clock,
        )
        self._create = commits.group("create_link", create_links)
        self._cancel = commits.group("cancel_link", CancelLinks(clock=clock))
        self._press = commits.group("press_link", press_links, most=_MOST)

    async def create(self, request: LinkRequest) -> MadeLink:
        return granted(await self._create(request))

    async def cancel(self, cancellation: LinkCancellation) -> Link:
        return granted(await self._cancel(cancellation))

    async def press(self, press: Press) -> PressResult:
        """The payment of a press, new or earlier. Raises a refusal if there is none."""
        attempt = PressAttempt.of(press, self._clock())
        try:
            result = granted(await self._press(attempt))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            # Operators adopted this payment after a restore had lost it, or another payment has the reference.
            result = granted(await self._press(attempt.collided()))
        if result.is_new:
            self._payments.signal(InitiatedPayment(result.transaction))
        return result
