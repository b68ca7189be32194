"""Every page, with the right that a person needs for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.dashboard import entrance, live, overview
from malipo.dashboard.visit import Visit
from malipo.merchants.people import Right

Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    right: Right | None  # None: for everybody


PAGES = [
    Page("GET", "/dashboard/login", entrance.show, None),
    Page("POST", "/dashboard/login", entrance.log_in, None),
    Page("POST", "/dashboard/logout", entrance.log_out, Right.LOOK),
    Page("GET", "/dashboard/password", entrance.show_link, None),
    Page("POST", "/dashboard/password", entrance.use_link, None),
    Page("POST", "/dashboard/language", entrance.choose_language, None),
    Page("GET", "/dashboard/live", live.stream, Right.LOOK),
    Page("GET", "/dashboard", overview.show, Right.LOOK),
]
