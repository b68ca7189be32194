"""Renders the pages of customers. A page needs one request, because it contains its style and script; a logo is a
second."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from malipo.dashboard.language import NAMES
from malipo.dashboard.render import moment
from malipo.http.accept_language import Language
from malipo.merchants.public_profile import PublicProfile, logo_path, tin_as_written
from malipo.pay_pages import inline_files
from malipo.pay_pages.request import PACKAGE, PayRequest
from malipo.phone import local, mask


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"phone": on_one_line, "masked": mask, "tin": tin_as_written}
    # They are our own, and allowed by their hashes: escaping a letter would change the hash.
    environment.globals |= {
        "style": Markup(inline_files.style()),  # noqa: S704
        "script": Markup(inline_files.script()),  # noqa: S704
        "poster_style": Markup(inline_files.poster_style()),  # noqa: S704
    }
    return environment


def on_one_line(number: str) -> str:
    return local(number).replace(" ", "\N{NO-BREAK SPACE}")


def page(
    request: PayRequest, template: str, *, merchant: PublicProfile | None, status: int = 200, **values: Any
) -> Response:
    words = request.words
    text = (
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
                "in_language": request.in_language,
                "is_simulated": request.parts.settings.simulated,
                "merchant": merchant,
                "logo": None if merchant is None or merchant.logo is None else logo_path(merchant.logo.fingerprint),
            }
        )
    )
    return Response(text, status, media_type="text/html", headers=inline_files.security_headers())
