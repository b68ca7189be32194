"""One request of the browser of a merchant's person."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from malipo.audit_log.actor import Actor
from malipo.dashboard.browser_request import BrowserRequest
from malipo.merchants.people import Person
from malipo.merchants.roles import Right
from malipo.merchants.store.sessions import Session


@dataclass(slots=True)
class MerchantRequest(BrowserRequest):
    """A request of a merchant's person."""

    root: ClassVar[str] = "/dashboard"

    session: Session | None = None

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    def without_session(self) -> Self:
        return replace(self, session=None)

    @property
    def frame(self) -> dict[str, Any]:
        return {
            "person": self.session.person if self.session else None,
            "business": self.session.business if self.session else "",
            "may": lambda right: self.session is not None and self.may(right),
        }

    @property
    def person(self) -> Person:
        assert self.session is not None, "only pages for people who are logged in ask for them"
        return self.session.person

    @property
    def merchant_id(self) -> str:
        return self.person.merchant_id

    @property
    def actor(self) -> Actor:
        return Actor(self.person.email, self.address)

    def may(self, right: Right) -> bool:
        return self.person.may(right)
