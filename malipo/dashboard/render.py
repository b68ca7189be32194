"""Renders templates, in the reader's language."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from malipo import money
from malipo.dashboard import cookies, static_files
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.compressed_pages import NOT_COMPRESSED, SHOW_SECRETS
from malipo.dashboard.language import NAMES, Translator
from malipo.dashboard.notices import NOTICES
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.http.accept_language import Language
from malipo.phone import spaced


@cache
def templates() -> Environment:
    loader = PackageLoader("malipo.dashboard")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"money": _shillings, "phone": spaced}
    environment.globals |= {"exact": money.exact, "static": static_files.url}
    return environment


def _shillings(amount: int) -> str:
    """With the sign that amounts of tables have."""
    return money.display(amount).replace("-", "−")


# For people without a program: the page that says how money comes into the wallet and out of it.
GUIDES = {Language.ENGLISH: "/docs/shop", Language.KISWAHILI: "/docs/sw/duka"}


def page(
    request: BrowserRequest, template: str, *, status: int = 200, is_refused: bool | None = None, **values: Any
) -> Response:
    """`is_refused`: whether its title says that there is an error; if it is not given, by its status."""
    text = render(request, template, is_refused=status >= 400 if is_refused is None else is_refused, **values)
    response = Response(text, status, media_type="text/html", headers=SECURITY_HEADERS)
    if template in SHOW_SECRETS:
        response.headers["Cache-Control"] = NOT_COMPRESSED
    if request.notice is not None:
        cookies.clear_notice(response, path=request.root)
    return response


def render(request: BrowserRequest, template: str, *, is_refused: bool = False, **values: Any) -> str:
    words = request.words
    return (
        templates()
        .get_template(template)
        .render(
            values
            | {
                "_": words,
                "ngettext": words.plural,
                "moment": lambda at: moment(words, at),
                "language": words.language,
                "languages": {each: NAMES[each] for each in Language},
                "guide": GUIDES[words.language],
                "token": request.form_token,
                "notice": words(NOTICES[request.notice]) if request.notice in NOTICES else None,
                "here": request.http.url.path,
                "place": request.place,
                "root": request.root,
                "is_simulated": request.parts.settings.simulated,
                "is_refused": is_refused,
                "mistakes": [],  # of each wrong field: its id, its label and what is wrong
            }
            | request.frame
        )
    )


def moment(words: Translator, at: datetime | None) -> Markup:
    """A time in Dar es Salaam, with UTC as its title."""
    if at is None:
        return Markup("–")
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{utc:%Y-%m-%d %H:%M:%S} UTC", words.moment(at)
    )
