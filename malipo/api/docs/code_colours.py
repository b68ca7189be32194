"""Samples of code with their comments, texts, numbers and words told apart. Pure.

Five languages, each by one regular expression: enough for the short samples of the documentation, and no dependency.
"""

import re

from markupsafe import Markup, escape

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
