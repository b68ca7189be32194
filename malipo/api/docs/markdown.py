"""Markdown, JSON examples and curl commands of the API reference as HTML. Pure."""

import json
import re
from typing import Any

from markupsafe import Markup, escape

_LINE = 58  # characters that an example may fill before it is broken up

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def inline(text: str) -> Markup:
    """One paragraph: `code` and **bold**."""
    pieces: list[Markup] = []
    end = 0
    for match in _INLINE.finditer(text):
        code, bold = match.groups()
        pieces += [escape(text[end : match.start()]), _tag("code", code) if code else _tag("strong", bold)]
        end = match.end()
    return Markup("").join([*pieces, escape(text[end:])])


def paragraphs(text: str) -> Markup:
    """Paragraphs, as empty lines divide them."""
    return Markup("\n").join(_tag("p", inline(each.replace("\n", " "))) for each in text.strip().split("\n\n"))


def first_sentence(text: str) -> str:
    return text.strip().replace("\n", " ").partition(". ")[0]


def topics(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Split the page: the text before the first `## heading`, then each heading with the text under it."""
    lead, *rest = _HEADING.split(text)
    return lead, list(zip(rest[::2], rest[1::2], strict=True))


def address(path: str) -> Markup:
    """A path with its parameters marked. It may be broken after each slash."""
    broken = Markup("/<wbr>").join(path.split("/"))
    return Markup(re.sub(r"(\{\w+\})", r"<var>\1</var>", str(broken)))  # noqa: S704 - escaped by the join.


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def pretty(value: Any, indent: int = 0, *, lead: int = 0) -> str:
    """JSON for reading: what fits into a line stays in one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    parts = value.values() if isinstance(value, dict) else value
    is_simple = not any(isinstance(each, dict | list) for each in parts) and (indent > 0 or len(value) <= 2)
    return flat if is_simple and indent + lead + len(flat) <= _LINE else _broken(value, indent)


def _broken(value: Any, indent: int) -> str:
    inner = indent + 2
    if isinstance(value, dict):
        heads = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        items = [head + pretty(each, inner, lead=len(head)) for head, each in zip(heads, value.values(), strict=True)]
        opening, closing = "{", "}"
    else:
        items = [pretty(each, inner) for each in value]
        opening, closing = "[", "]"
    space = " " * inner
    return f"{opening}\n{space}" + f",\n{space}".join(items) + f"\n{' ' * indent}{closing}"


def curl(method: str, url: str, *, headers: list[str], body: Any = None) -> str:
    """A command that can be pasted. The shell fills in $MALIPO_URL, $MALIPO_API_KEY and $TOKEN."""
    verb = "" if method == "GET" or (method == "POST" and body is not None) else f"-X {method} "
    parts = [f'curl {verb}"{url}"', *(f'-H "{header}"' for header in headers)]
    if body is not None:
        quoted = pretty(body, 2).replace("'", "'\\''")
        parts += ['-H "content-type: application/json"', f"-d '{quoted}'"]
    return " \\\n  ".join(parts)


def in_query(example: Any) -> str:
    """A parameter as it stands in a query."""
    return ",".join(map(str, example)) if isinstance(example, list) else str(example)


def _tag(name: str, content: str) -> Markup:
    return Markup("<{0}>{1}</{0}>").format(name, content)


# Samples of code with their comments, texts, numbers and words marked. Pure.
#
# Five languages, each by one regular expression: enough for the short samples of the documentation, and no dependency.


_TEXT = r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
_NUMBER = r"(?P<number>\b\d[\d_.]*\b)"


def _language(comment: str, words: str, variable: str = r"(?!)") -> re.Pattern[str]:
    return re.compile(
        rf"(?P<comment>{comment})|{_TEXT}|(?P<key>{variable})|{_NUMBER}|(?P<word>\b(?:{words.replace(' ', '|')})\b)",
        re.MULTILINE,
    )


_PYTHON = _language(
    r"#[^\n]*",
    "and as assert async await def elif else except False for from if import in is lambda None not or pass raise "
    "return True try while with yield",
)
_TYPESCRIPT = _language(
    r"//[^\n]*",
    "async await const else export false for from function if import let new null of return throw true try catch "
    "undefined while",
)
_PHP = _language(
    r"//[^\n]*|\#[^\n]*",
    "as catch class else echo false for foreach function if new null public require require_once return static throw "
    "true try use while",
    r"\$\w+",
)
_SHELL = re.compile(
    r"(?P<comment>(?:^|(?<=\s))\#[^\n]*)"
    r"|(?P<text>'[^']*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<key>\$\w+|\$\{\w+\})"
    r"|(?P<word>(?:^|(?<=\| ))(?:curl|pip|npm|export|openssl|printf|php|python|malipo-client|\./run)\b)",
    re.MULTILINE,
)
_JSON = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)'
)
_LANGUAGES = {
    "json": _JSON,
    "sh": _SHELL,
    "python": _PYTHON,
    "typescript": _TYPESCRIPT,
    "javascript": _TYPESCRIPT,
    "php": _PHP,
}


def coloured(text: str, language: str) -> Markup:
    """HTML of a sample. A language that is not known stays as it is."""
    pattern = _LANGUAGES.get(language)
    if pattern is None:
        return escape(text)
    pieces: list[Markup] = []
    end = 0
    for match in pattern.finditer(text):
        pieces += [
            escape(text[end : match.start()]),
            Markup('<span class="{}">{}</span>').format(match.lastgroup, match[0]),
        ]
        end = match.end()
    return Markup("").join([*pieces, escape(text[end:])])
