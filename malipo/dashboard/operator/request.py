"""One request of an operator's browser."""

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from malipo.accounts.account import AccountOwner
from malipo.accounts.reauthentication import Proof
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.audit_log.actor import Actor
from malipo.dashboard import cookies
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.cookies import SessionCookie
from malipo.http.user_agents import device_of
from malipo.operators import four_eyes
from malipo.operators.four_eyes import COOLING_TIME
from malipo.operators.login import actor_of
from malipo.operators.roles import RIGHTS, Right, Role
from malipo.operators.second_factor import owner_of
from malipo.operators.store import OperatorSession
from malipo.restore.installation import Installation

# Beside the name of the service, on every page.
_BUSINESS = {
    Role.MANAGER: "Operators",
    Role.SUPPORT: "Operators: support",
    Role.AUDITOR: "Operators: auditor, reads only",
}
SENTENCES = [*_BUSINESS.values()]


@dataclass(slots=True)
class OperatorRequest(BrowserRequest):
    root: ClassVar[str] = "/operator"
    browser_cookie: ClassVar[SessionCookie] = cookies.OPERATOR_BROWSER

    session: OperatorSession | None = None
    installation: Installation | None = None  # said on every page while nothing is sent
    resets: list[CredentialReset] = field(default_factory=list)  # that nobody has vouched for: said on every page

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    @property
    def person_id(self) -> str | None:
        return self.session.operator.id if self.session is not None else None

    @property
    def role(self) -> Role:
        return self._live_session.operator.role

    def may(self, right: Right) -> bool:
        return right in RIGHTS[self.role]

    @property
    def confirmed_at(self) -> datetime:
        return self._live_session.confirmed_at

    @property
    def last_used_at(self) -> datetime:
        return self._live_session.last_used_at

    @property
    def owner(self) -> AccountOwner:
        return owner_of(self._live_session.operator, self.address)

    @property
    def has_second_factor(self) -> bool:
        return self._live_session.has_second_factor

    @property
    def must_enrol(self) -> bool:
        return self.parts.settings.operator_second_factor == "required" and not self._live_session.has_second_factor

    async def confirm(self, password: str, typed: TypedCode) -> None:
        parts, session = self.parts, self._live_session
        await parts.accounts.operators.confirm(
            session, Proof(password, typed), address=self.address, browser=self.browser, now=parts.clock()
        )

    async def note_use(self) -> None:
        await self.parts.accounts.operators.note_use(self._live_session, now=self.parts.clock())

    @property
    def _live_session(self) -> OperatorSession:
        assert self.session is not None, "only pages for operators who are logged in ask for it"
        return self.session

    def without_session(self) -> Self:
        return dataclasses.replace(self, session=None, resets=[])

    @property
    def frame(self) -> dict[str, Any]:
        operator = self.session.operator if self.session is not None else None
        return {
            "person": operator,
            "business": self.words(_BUSINESS[operator.role]) if operator else "",
            "is_confined": operator is not None and self.must_enrol,
            "alerts": [(each, device_of(each.user_agent)) for each in self.alerts],
            "account": "/operator/account",
            "may": lambda right: operator is not None and self.may(right),
            "resets": self._shown_resets(),
            "closed": self.installation
            if self.installation is not None and self.installation.takes_no_payments
            else None,
        }

    def _shown_resets(self) -> list[tuple[CredentialReset, datetime, bool]]:
        """The last of each operator, until when they count as no second one, and whether this operator may vouch."""
        return [
            (
                each,
                each.reset_at + COOLING_TIME,
                self.may(Right.ACT) and four_eyes.may_vouch(self.resets, each.name, self.actor),
            )
            for each in four_eyes.last_of_each(self.resets)
        ]

    @property
    def actor(self) -> Actor:
        assert self.session is not None, "only pages for operators who are logged in ask for them"
        return actor_of(self.session.operator, self.address)
