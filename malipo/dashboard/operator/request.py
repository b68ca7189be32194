"""One request of an operator's browser."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from malipo.audit_log.actor import Actor
from malipo.dashboard.browser_request import BrowserRequest
from malipo.installation.state import Installation
from malipo.operators.login import actor_of
from malipo.operators.store import Session


@dataclass(slots=True)
class OperatorRequest(BrowserRequest):
    root: ClassVar[str] = "/operator"

    session: Session | None = None
    standing: Installation | None = None  # said on every page while nothing is sent

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    def without_session(self) -> Self:
        return replace(self, session=None)

    @property
    def frame(self) -> dict[str, Any]:
        operator = self.session.operator if self.session is not None else None
        return {
            "person": operator,
            "business": self.words("Operators") if operator else "",
            "may": lambda _: False,
            "closed": self.standing if self.standing is not None and self.standing.is_closed else None,
        }

    @property
    def actor(self) -> Actor:
        assert self.session is not None, "only pages for operators who are logged in ask for them"
        return actor_of(self.session.operator, self.address)
