"""The content of /docs, rendered at the first request for it, and cached."""

from functools import cache

from malipo.api import openapi
from malipo.api.docs import downloads, guides, pages, reference, render, search_index, sources
from malipo.api.docs.pages import DocsInstallation, DocsPage
from malipo.api.docs.reference import Reference
from malipo.http.public_files import PublicFile, StaticFolder
from malipo.rate_limit.sliding_window import RateClass

Limits = tuple[tuple[RateClass, int], ...]


def guide(name: str, installation: DocsInstallation) -> str | None:
    """The page at this address; None if there is none. Unknown addresses are not cached."""
    page = pages.by_name().get(name)
    return None if page is None else _guide(page, installation)


@cache
def _guide(page: DocsPage, installation: DocsInstallation) -> str:
    in_order = list(pages.by_name().values())
    place = in_order.index(page)
    return render.page(
        "guide.html",
        installation,
        here=page.address,
        language=page.language,
        guide=guides.guide(page, is_simulated=installation.is_simulated),
        before=in_order[place - 1] if place else None,
        after=in_order[place + 1] if place + 1 < len(in_order) else None,
    )


def show_reference(name: str, most: int, limits: Limits, installation: DocsInstallation) -> str | None:
    """The page at this address below /docs/reference; the list of them without a name. Nothing is kept of none."""
    if name and name not in _reference(most, limits).names:
        return None
    return _reference_page(name, most, limits, installation)


@cache
def _reference_page(name: str, most: int, limits: Limits, installation: DocsInstallation) -> str:
    reference = _reference(most, limits)
    return reference.page(name, installation) if name else reference.index(installation)


@cache
def _reference(most: int, limits: Limits) -> Reference:
    return Reference(openapi.served(most), dict(limits))


@cache
def try_it(most: int, installation: DocsInstallation) -> str:
    return reference.try_it(openapi.served(most), installation)


@cache
def search(most: int) -> PublicFile:
    return PublicFile.of(search_index.index(openapi.served(most)), "application/json")


@cache
def images() -> dict[str, PublicFile]:
    """The pictures that pages show, and no other files."""
    folder = sources.folder("docs") / "images"
    names = {name for page in pages.by_name().values() for name in guides.guide(page).images}
    return {name: PublicFile.of((folder / name).read_bytes(), "image/png") for name in names}


@cache
def lost(installation: DocsInstallation, *, is_root: bool) -> str:
    return render.page("lost.html", installation, here="/" if is_root else "", is_root=is_root)


def download(name: str) -> PublicFile | None:
    """An archive of a client library, or an example."""
    return downloads.archive(name)


def static() -> StaticFolder:
    return render.static_files()
