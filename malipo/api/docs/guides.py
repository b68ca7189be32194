"""The pages of docs/ as HTML: headings with anchors, links of the site, samples in tabs.

Markdown is written so that GitHub shows it well. Some comments mean more here:

- `<!-- tabs -->` before samples in several languages: the reader sees one of them, and it is remembered which;
- `<!-- for operators -->` before a heading: that section is for whoever runs the service, and is left out; before
  anything else: that paragraph, list or table;
- `<!-- if simulated` before a text and `-->` after it: only a service with simulated networks shows it;
- `<!-- answers 409 -->` and `<!-- answer of POST /v1/payments -->` and the like, for the tests of the samples.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from malipo.api.docs import pages, sources
from malipo.api.docs.markdown import coloured
from malipo.api.docs.pages import DocsPage

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_OPERATORS = "<!-- for operators -->"
_TABS = "<!-- tabs -->"
# The languages that the tabs of a sample can have.
LANGUAGES = ("sh", "python", "typescript", "php")
_NAMES = {
    "sh": "curl",
    "python": "Python",
    "typescript": "TypeScript",
    "javascript": "JavaScript",
    "php": "PHP",
    "json": "JSON",
    "http": "HTTP",
}
_IF_SIMULATED = re.compile(r"^<!-- if simulated\n(.*?)^-->\n", re.MULTILINE | re.DOTALL)
_TASK = re.compile(r"(<li>\s*(?:<p>)?)\[[ x]\] ")


@dataclass(frozen=True, slots=True)
class GuideHeading:
    level: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and the text under it, for the search."""

    heading: GuideHeading
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    page: DocsPage
    title: str
    html: Markup
    headings: tuple[GuideHeading, ...]
    sections: tuple[Section, ...]
    images: tuple[str, ...]


@cache
def guide(page: DocsPage, *, is_simulated: bool = False) -> Guide:
    """A guide, read at the first request for it."""
    text = (sources.folder("docs") / page.file).resolve().read_text("utf-8")
    text = _IF_SIMULATED.sub(r"\1" if is_simulated else "", text)
    tokens = _without_operators(_parser().parse(text))
    images: list[str] = []
    headings: list[GuideHeading] = []
    for token, inline in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and inline is not None:
            name = anchor(inline.content)
            before = sum(
                each.text == _words(inline) for each in headings
            )  # A second one is numbered, as GitHub does it.
            heading = GuideHeading(int(token.tag[1]), f"{name}-{before}" if before else name, _words(inline))
            token.attrSet("id", heading.id)
            headings.append(heading)
        _adapt(token, page, images)
    _label_cells(tokens)
    html = _parser().renderer.render(_in_tabs(tokens), _parser().options, {})
    html = _TASK.sub(r'\1<span class="task" aria-hidden="true"></span>', html)
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    title = headings[0].text if headings else page.title
    return Guide(page, title, Markup(html), tuple(headings), tuple(_sections(tokens)), tuple(images))  # noqa: S704 - ours


def _label_cells(tokens: Sequence["Token"]) -> None:
    """Each cell of a table gets the name of its column, which a telephone shows above it."""
    names: list[str] = []
    column = 0
    for token, inline in pairwise(tokens):
        if token.type == "thead_open":
            names = []
        elif token.type == "th_open":
            names.append(_words(inline))
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            token.attrSet("data-label", names[column] if column < len(names) else "")
            column += 1


def anchor(heading: str) -> str:
    """The name of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # Imported here, so that only readers of the docs wait for it.

    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("fence", lambda _, tokens, index, options, env: _sample(tokens[index]))
    parser.add_render_rule("heading_close", lambda _, tokens, index, options, env: _heading_close(tokens, index))
    return parser


def _heading_close(tokens: Sequence["Token"], index: int) -> str:
    level, name = tokens[index].tag, tokens[index - 2].attrGet("id")
    link = "" if level == "h1" else f'<a class="anchor" href="#{name}" aria-hidden="true" tabindex="-1">#</a>'
    return f"{link}</{level}>\n"


def _without_operators(tokens: Sequence["Token"]) -> list["Token"]:
    """The text without the sections marked for operators, each up to the next heading of its level, and without marked
    blocks."""
    kept: list[Token] = []
    left_out = 0  # the level of the heading whose section is left out
    is_marked = False
    for token in tokens:
        if token.type == "html_block" and token.content.strip() == _OPERATORS:
            is_marked = True
            continue
        if token.type == "heading_open":
            level = int(token.tag[1])
            if is_marked:
                left_out, is_marked = level, False
            elif level <= left_out:
                left_out = 0
        if not left_out and not is_marked:
            kept.append(token)
        if is_marked and token.level == 0 and token.nesting <= 0:
            is_marked = False  # The block ends here.
    return kept


def _adapt(token: "Token", page: DocsPage, images: list[str]) -> None:
    """Change links and pictures to those of the site. A page that the site does not have is named, and not linked."""
    is_elsewhere = False
    for child in token.children or ():
        if child.type == "link_open":
            target = address(str(child.attrGet("href")), page)
            is_elsewhere = target is None
            child.attrs = {"class": "elsewhere"} if target is None else {"href": target}
        elif child.type == "image":
            name = posixpath.basename(str(child.attrGet("src")))
            images.append(name)
            child.attrs |= {"src": f"/docs/images/{name}", "loading": "lazy"}
        if child.type in ("link_open", "link_close") and is_elsewhere:
            child.tag = "span"
    if token.type == "html_block":
        images += re.findall(r'src="images/([\w.-]+)"', token.content)
        token.content = token.content.replace('src="images/', 'loading="lazy" src="/docs/images/')


def address(target: str, page: DocsPage) -> str | None:
    """The address on the site to which a link of a page leads; None if the site has no such page."""
    if target.startswith(("https://", "http://", "#", "/")):
        return target
    path, _, place = target.partition("#")
    # From docs/, also for the changelog, which is beside that folder.
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), path)).removeprefix("../docs/")
    if file == "api.md":
        return None if place not in pages.IN_REFERENCE else pages.REFERENCE + pages.IN_REFERENCE[place]
    found = pages.by_file().get(file)
    return None if found is None else found.address + (f"#{place}" if place else "")


def _in_tabs(tokens: Sequence["Token"]) -> list["Token"]:
    """Join the samples after the mark into one block, without comments."""
    kept: list[Token] = []
    samples: list[Token] | None = None
    for token in tokens:
        is_comment = token.type == "html_block" and token.content.startswith("<!--")
        if samples is not None and token.type == "fence" and token.info in LANGUAGES:
            samples.append(token)
        elif samples is None or samples or not is_comment:
            if samples:
                kept.append(_tabs(samples))
            samples = [] if token.content.strip() == _TABS else None
            kept += [] if is_comment else [token]
    return [*kept, _tabs(samples)] if samples else kept


def _tabs(samples: Sequence["Token"]) -> "Token":
    from markdown_it.token import Token

    inside = "".join(_sample(each, is_tab=True) for each in samples)
    return Token("html_block", "", 0, content=f'<div class="tabs">{inside}</div>\n')


def _sample(token: "Token", *, is_tab: bool = False) -> str:
    language = token.info.split(" ")[0]
    name = _NAMES.get(language, "")
    label = name if is_tab else {"sh": "Shell"}.get(language, name)
    return str(
        Markup(
            '<figure class="code" data-language="{}"><figcaption><span>{}</span></figcaption>'
            '<pre tabindex="0"><code>{}</code></pre></figure>\n'
        ).format(language or "text", label, coloured(token.content.rstrip("\n"), language))
    )


def _words(token: "Token") -> str:
    return "".join(
        " " if each.type == "softbreak" else each.content
        for each in token.children or ()
        if each.type in ("text", "code_inline", "softbreak")
    )


def _sections(tokens: Sequence["Token"]) -> Iterator[Section]:
    """The sections of a page for the search. Rows of tables and samples count as text too."""
    heading: GuideHeading | None = None
    pieces: list[str] = []
    is_heading = False
    for token in tokens:
        if token.type == "heading_open":
            if heading is not None:
                yield Section(heading, " ".join(pieces))
            heading, pieces, is_heading = None, [], True
            level, name = int(token.tag[1]), str(token.attrGet("id"))
        elif is_heading and token.type == "inline":
            heading, is_heading = GuideHeading(level, name, _words(token)), False
        elif token.type == "inline":
            pieces.append(_words(token) if token.children else str(escape(token.content)))
        elif token.type == "fence":
            pieces.append(token.content)
    if heading is not None:
        yield Section(heading, " ".join(pieces))
