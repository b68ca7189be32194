"""Renders templates and serves static files, under a strict Content-Security-Policy."""

import zlib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator import phone
from malipo_simulator.phone_messages import BRANDS, local_time, money
from malipo_simulator.simulator import Simulator

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {"simulator.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def _templates() -> Environment:
    loader = PackageLoader("malipo_simulator.pages")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"money": money, "clock": local_time, "phone": phone.shown, "brand": BRANDS.__getitem__}
    return made


def page(template: str, *, status: int = 200, frames: str | None = None, **values: Any) -> Response:
    """`frames`: whose pages may stand in frames of this one; nobody's otherwise."""
    text = _templates().get_template(template).render(values)
    policy = _POLICY if frames is None else f"{_POLICY}; frame-src {frames}"
    return Response(text, status, media_type="text/html", headers=_HEADERS | {"Content-Security-Policy": policy})


class Fragment(NamedTuple):
    """A part of a page that is kept fresh, and a name for this state of it."""

    text: Markup
    version: str

    def response(self) -> Response:
        headers = _HEADERS | {"X-Version": self.version}
        return Response(str(self.text), media_type="text/html", headers=headers)


def fragment(template: str, **values: Any) -> Fragment:
    text = _templates().get_template(template).render(values)
    return Fragment(Markup(text), f"{zlib.crc32(text.encode()):08x}")  # noqa: S704 - the template has escaped it.


def problem(status: int, text: str) -> Response:
    return page("problem.html", status=status, text=text, code=status)


@cache
def _static(name: str) -> bytes:
    return resources.files("malipo_simulator.pages").joinpath("static", name).read_bytes()


async def static(simulator: Simulator, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "There is no such file.")
    return Response(_static(name), media_type=_STATIC[name], headers=_HEADERS | {"Cache-Control": "max-age=60"})
