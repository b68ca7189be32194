"""Renders the templates of the documentation: the frame that all pages share, with navigation, search and notices."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from malipo.api.docs import markdown, pages
from malipo.api.docs.pages import DocsInstallation
from malipo.http.public_files import StaticFolder

_BUNDLES = {"site.css": ("docs.css", "guides.css")}


@cache
def static_files() -> StaticFolder:
    return StaticFolder("malipo.api.docs", "/docs/static", _BUNDLES)


@cache
def _templates() -> Environment:
    loader = PackageLoader("malipo.api.docs")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = (markdown.address, markdown.inline, markdown.paragraphs, markdown.slug, markdown.coloured)
    environment.filters |= {each.__name__: each for each in filters}
    environment.globals["static"] = static_files().url
    return environment


def page(template: str, installation: DocsInstallation, *, here: str, language: str = "en", **values: Any) -> str:
    frame = {"groups": pages.groups(), "installation": installation, "here": here, "language": language}
    return _templates().get_template(template).render(frame | values)
