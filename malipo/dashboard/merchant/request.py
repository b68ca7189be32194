"""One request of the browser of a merchant's person."""

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from malipo.accounts.account import AccountOwner
from malipo.accounts.reauthentication import Proof
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.audit_log.actor import Actor
from malipo.dashboard import cookies
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.cookies import SessionCookie
from malipo.http.user_agents import device_of
from malipo.merchants.people import Person
from malipo.merchants.roles import Right
from malipo.merchants.second_factor import owner_of
from malipo.merchants.store.sessions import MerchantSession
from malipo.payments.batches.approvers import AwaitedApprovals


@dataclass(slots=True)
class MerchantRequest(BrowserRequest):
    """A request of a merchant's person."""

    root: ClassVar[str] = "/dashboard"
    browser_cookie: ClassVar[SessionCookie] = cookies.BROWSER

    session: MerchantSession | None = None
    awaited: AwaitedApprovals = AwaitedApprovals()

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    @property
    def person_id(self) -> str | None:
        return self.session.person.id if self.session is not None else None

    @property
    def confirmed_at(self) -> datetime:
        return self._live_session.confirmed_at

    @property
    def last_used_at(self) -> datetime:
        return self._live_session.last_used_at

    @property
    def owner(self) -> AccountOwner:
        return owner_of(self.person, self.address)

    @property
    def has_second_factor(self) -> bool:
        return self._live_session.has_second_factor

    @property
    def must_enrol(self) -> bool:
        return self._live_session.must_enrol

    async def confirm(self, password: str, typed: TypedCode) -> None:
        parts, session = self.parts, self._live_session
        await parts.accounts.login.confirm(
            session, Proof(password, typed), address=self.address, browser=self.browser, now=parts.clock()
        )

    async def note_use(self) -> None:
        await self.parts.accounts.sessions.note_use(self._live_session, now=self.parts.clock())

    @property
    def _live_session(self) -> MerchantSession:
        assert self.session is not None, "only pages for people who are logged in ask for it"
        return self.session

    def without_session(self) -> Self:
        return dataclasses.replace(self, session=None, awaited=AwaitedApprovals())

    @property
    def frame(self) -> dict[str, Any]:
        return {
            "person": self.session.person if self.session else None,
            "business": self.business,
            "is_confined": self.session is not None and self.session.must_enrol,
            "alerts": [(each, device_of(each.user_agent)) for each in self.alerts],
            "account": "/dashboard/settings",
            "awaited": self.awaited.count,
            "may": lambda right: self.session is not None and self.may(right),
        }

    @property
    def person(self) -> Person:
        assert self.session is not None, "only pages for people who are logged in ask for them"
        return self.session.person

    @property
    def business(self) -> str:
        return self.session.business if self.session else ""

    @property
    def merchant_id(self) -> str:
        return self.person.merchant_id

    @property
    def actor(self) -> Actor:
        return Actor(self.person.email, self.address)

    def may(self, right: Right) -> bool:
        return self.person.may(right)
