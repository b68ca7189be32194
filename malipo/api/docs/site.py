"""The documentation at /docs: guides, the reference, search, styles and scripts, and the clients to download.

Everything is made when somebody first asks for it, off the event loop, and kept. What that needs is imported then too:
a start does not wait for it. The pages are the same for everybody but for the address of the service, which is the
one that the reader came to, and that of the simulated phones, if the service has them. They have no secrets, so that
they are compressed for everybody who takes it, and a browser that has one asks only whether it is still the same.
"""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.api.docs.pages import EXAMPLE_SIMULATOR_URL, EXAMPLE_URL, DocsInstallation
from malipo.api.parts import ApiParts
from malipo.api.urls import simulator_url
from malipo.http.public_files import PublicFile, answer, answer_by_name
from malipo.http.public_url import base_url
from malipo.rate_limit.sliding_window import RateClass

_CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


async def home(parts: ApiParts, request: Request) -> Response:
    return await _guide(parts, request, "")


async def guide(parts: ApiParts, request: Request) -> Response:
    return await _guide(parts, request, request.path_params["name"])


async def _guide(parts: ApiParts, request: Request, name: str) -> Response:
    page = await _made(lambda: _content().guide(name, _installation(parts)))
    if page is None or request.url.path == "/docs/":
        raise HTTPException(404)
    return await _shown(parts, request, page)


async def show_reference(parts: ApiParts, request: Request) -> Response:
    """The list of operations, or the page of one."""
    settings, name = parts.settings, request.path_params.get("name", "")
    limits = (
        (RateClass.CREATE, settings.rate_limit_create),
        (RateClass.LIST, settings.rate_limit_list),
        (RateClass.OTHER, settings.rate_limit_other),
    )
    page = await _made(lambda: _content().show_reference(name, _most(parts), limits, _installation(parts)))
    if page is None:
        raise HTTPException(404)
    return await _shown(parts, request, page)


async def try_it(parts: ApiParts, request: Request) -> Response:
    """Requests with one's own key, from a page. Only where the operator allows it."""
    if not parts.settings.docs_try_it:
        raise HTTPException(404)
    return await _shown(parts, request, await _made(lambda: _content().try_it(_most(parts), _installation(parts))))


# Below these there are only programs: they get JSON, whatever they accept.
_FOR_PROGRAMS = ("/v1", "/merchant", "/callbacks", "/openapi.json", "/metrics", "/healthz", "/readyz")


def is_for_browser(request: Request) -> bool:
    """Whether somebody with a browser has come to an address that nothing is at."""
    accepted = request.headers.get("accept", "")
    return request.method in ("GET", "HEAD") and "text/html" in accepted and not _is_for_programs(request.url.path)


def _is_for_programs(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in _FOR_PROGRAMS)


async def lost(parts: ApiParts, request: Request) -> Response:
    """A page in place of the JSON of a 404; the first page of the service at /."""
    is_root = request.url.path == "/"
    page = await _made(lambda: _content().lost(_installation(parts), is_root=is_root))
    if is_root:
        return await _shown(parts, request, page)
    answered = await _shown(parts, request, page, status=404)
    answered.headers["X-Error-Code"] = "not_found"
    return answered


async def search(parts: ApiParts, request: Request) -> Response:
    return await _sent(parts, request, await _made(lambda: _content().search(_most(parts))))


async def style(parts: ApiParts, request: Request) -> Response:
    """Serve the style at the address that it had from 0.1.0 to 0.4.0, because the contracts of those versions name
    it."""
    return await _static(request, "site.css")


async def static(parts: ApiParts, request: Request) -> Response:
    return await _static(request, request.path_params["name"])


async def _static(request: Request, name: str) -> Response:
    found = await _made(lambda: _content().static().find(name))
    if found is None:
        raise HTTPException(404)
    return answer_by_name(request, found, _HEADERS)


async def image(parts: ApiParts, request: Request) -> Response:
    return await _sent(parts, request, (await _made(lambda: _content().images())).get(request.path_params["name"]))


async def download(parts: ApiParts, request: Request) -> Response:
    return await _sent(parts, request, await _made(lambda: _content().download(request.path_params["name"])))


async def _sent(parts: ApiParts, request: Request, found: PublicFile | None) -> Response:
    if found is None:
        raise HTTPException(404)
    await parts.large_answers.wait()
    return answer(request, found, _HEADERS)


def _content() -> Any:
    """The module that makes everything. It is imported with the first page."""
    from malipo.api.docs import content

    return content


async def _made(make: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(make)


def _installation(parts: ApiParts) -> DocsInstallation:
    return DocsInstallation(is_simulated=parts.settings.simulated, may_try=parts.settings.docs_try_it)


def _most(parts: ApiParts) -> int:
    return parts.payments.terms.max_amount(None)


async def _shown(parts: ApiParts, request: Request, page: str, *, status: int = 200) -> Response:
    phones = simulator_url(parts.settings, request) if parts.settings.simulated else EXAMPLE_SIMULATOR_URL
    shown = await _made(lambda: _with_addresses(page, base_url(parts.settings, request), phones))
    await parts.large_answers.wait()
    return answer(request, shown, _HEADERS, status=status)


# A reader chooses the address in the Host header, so the number of addresses that we keep has a limit.
@lru_cache(maxsize=200)
def _with_addresses(page: str, address: str, phones: str) -> PublicFile:
    content = page.replace(EXAMPLE_SIMULATOR_URL, phones).replace(EXAMPLE_URL, address)
    return PublicFile.of(content.encode(), "text/html")
