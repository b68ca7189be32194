"""The documentation at /docs: guides, the reference, search, styles and scripts, and the clients to download.

Everything is made when somebody first asks for it, off the event loop, and kept. The pages are the same for everybody
but for the address of the service, which is the one that the reader came to.
"""

import asyncio
from functools import cache, lru_cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.api import openapi
from malipo.api.base_url import base_url
from malipo.api.docs import downloads, guides, pages, reference, render, search_index, sources
from malipo.api.docs.render import Installation
from malipo.rate_limit.sliding_window import RateClass
from malipo.service import Service

_CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_KEPT = _HEADERS | {"Cache-Control": "max-age=300"}
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


async def home(service: Service, request: Request) -> Response:
    return await _shown(service, request, await asyncio.to_thread(_guide, "", _installation(service)))


async def guide(service: Service, request: Request) -> Response:
    name: str = request.path_params["name"]
    if not name or name not in pages.by_name():
        raise HTTPException(404)
    return await _shown(service, request, await asyncio.to_thread(_guide, name, _installation(service)))


async def show_reference(service: Service, request: Request) -> Response:
    settings = service.settings
    limits = (
        (RateClass.CREATE, settings.rate_limit_create),
        (RateClass.LIST, settings.rate_limit_list),
        (RateClass.OTHER, settings.rate_limit_other),
    )
    most = service.terms.max_amount(None)
    return await _shown(service, request, await asyncio.to_thread(_reference, most, limits, _installation(service)))


async def try_it(service: Service, request: Request) -> Response:
    """Requests with one's own key, from a page. Only where the operator allows it."""
    if not service.settings.docs_try_it:
        raise HTTPException(404)
    most = service.terms.max_amount(None)
    return await _shown(service, request, await asyncio.to_thread(_try_it, most, _installation(service)))


async def search(service: Service, request: Request) -> Response:
    content = await asyncio.to_thread(_search_index, service.terms.max_amount(None))
    await service.wait_with_large_answer()
    return Response(content, media_type="application/json", headers=_KEPT)


async def style(service: Service, request: Request) -> Response:
    return _static("docs.css")


async def static(service: Service, request: Request) -> Response:
    return _static(request.path_params["name"])


async def image(service: Service, request: Request) -> Response:
    """Only pictures that a page shows."""
    name: str = request.path_params["name"]
    content = await asyncio.to_thread(_images)
    if name not in content:
        raise HTTPException(404)
    await service.wait_with_large_answer()
    return Response(content[name], media_type="image/png", headers=_KEPT)


async def download(service: Service, request: Request) -> Response:
    """A client library, made of its sources."""
    found = await asyncio.to_thread(downloads.archive, request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    await service.wait_with_large_answer()
    return Response(found.content, media_type=found.media_type, headers=_HEADERS | {"Cache-Control": "no-cache"})


def _installation(service: Service) -> Installation:
    return Installation(is_simulated=service.settings.simulated, may_try=service.settings.docs_try_it)


async def _shown(service: Service, request: Request, page: str) -> Response:
    content = _with_address(page, base_url(service, request))
    await service.wait_with_large_answer()
    return Response(content, media_type="text/html", headers=_HEADERS)


@lru_cache(maxsize=128)
def _with_address(page: str, address: str) -> bytes:
    return page.replace(guides.EXAMPLE_URL, address).encode()


@cache
def _guide(name: str, installation: Installation) -> str:
    page = pages.by_name()[name]
    in_order = list(pages.by_name().values())
    place = in_order.index(page)
    return render.page(
        "guide.html",
        installation,
        here=page.address,
        language=page.language,
        guide=guides.guide(page),
        before=in_order[place - 1] if place else None,
        after=in_order[place + 1] if place + 1 < len(in_order) else None,
    )


@cache
def _reference(most: int, limits: tuple[tuple[RateClass, int], ...], installation: Installation) -> str:
    return reference.page(openapi.served(most), dict(limits), installation)


@cache
def _try_it(most: int, installation: Installation) -> str:
    return reference.try_it(openapi.served(most), installation)


@cache
def _search_index(most: int) -> bytes:
    return search_index.index(openapi.served(most))


@cache
def _images() -> dict[str, bytes]:
    folder = sources.folder("docs") / "images"
    names = {name for page in pages.by_name().values() for name in guides.guide(page).images}
    return {name: (folder / name).read_bytes() for name in names}


def _static(name: str) -> Response:
    media_type = next((type_ for ending, type_ in _MEDIA_TYPES.items() if name.endswith(ending)), None)
    content = _file(name) if media_type is not None and "/" not in name else None
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type=media_type, headers=_KEPT)


@cache
def _file(name: str) -> bytes | None:
    found = resources.files("malipo.api.docs").joinpath("static", name)
    return found.read_bytes() if found.is_file() else None
