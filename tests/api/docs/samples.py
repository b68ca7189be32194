"""The samples of code in the docs, as a reader would paste them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from malipo.api.docs import pages

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
_SAMPLE = re.compile(
    r"^(?P<marks>(?:<!-- .*? -->\n)*)```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Sample:
    page: str  # its file
    line: int
    language: str
    code: str
    status: int | None  # what a request is answered with, where that is no success
    operation: str | None  # whose answer this is, such as GET /v1/wallet

    def __str__(self) -> str:
        return f"docs/{self.page}:{self.line}"


def samples_of(file: Path) -> Iterator[Sample]:
    text = file.read_text()
    for found in _SAMPLE.finditer(text):
        reported = re.search(r"<!-- answers (\d+) -->", found["marks"])
        answer = re.search(r"<!-- answer of (.+) -->", found["marks"])
        yield Sample(
            file.relative_to(DOCS).as_posix(),
            text.count("\n", 0, found.start("code")),
            found["language"],
            found["code"],
            int(reported[1]) if reported else None,
            answer[1] if answer else None,
        )


# What merchants read, and what is for others.
SERVED = [each for file in pages.by_file() if not file.startswith("..") for each in samples_of(DOCS / file)]
OTHERS = [
    each
    for file in sorted(DOCS.rglob("*.md"))
    if file.relative_to(DOCS).as_posix() not in pages.by_file()
    for each in samples_of(file)
]


def by_page(language: str) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in SERVED:
        if sample.language == language:
            found.setdefault(sample.page, []).append(sample)
    return found
