"""What the search of the documentation looks through: every section of every page, and every operation.

The ranking is in `static/search.js`, and runs in the reader's browser.
"""

import re
from typing import Any

import msgspec

from malipo.api.docs import guides, markdown, pages

_REFERENCE_WEIGHT = 0.85
_SPACE = re.compile(r"\s+")


def index(contract: dict[str, Any]) -> bytes:
    """JSON: pages with their sections. `k` are words that people search for, `c` are codes that
    are found only whole, `x` is the text, `w` a weight."""
    codes = [each["const"] for each in contract["components"]["schemas"]["ErrorCode"]["oneOf"]]
    found = [
        {
            "u": page.address,
            "t": page.title,
            "k": page.words,
            "w": page.weight,
            "c": codes if page.name == "errors" else [],
            "s": [
                {"h": each.heading.text, "a": each.heading.id, "x": _SPACE.sub(" ", each.text.replace("[ ] ", ""))}
                for each in guides.guide(page).sections
            ],
        }
        for page in pages.by_name().values()
    ]
    return msgspec.json.encode([*found, _reference(contract)])


def _reference(contract: dict[str, Any]) -> dict[str, Any]:
    operations = [
        {
            "h": operation["summary"],
            "a": operation["operationId"],
            "x": f"{method.upper()} {path} {markdown.first_sentence(operation['description']).replace('`', '')}",
        }
        for path, methods in contract["paths"].items()
        for method, operation in methods.items()
    ]
    words = "api reference openapi swagger postman bruno endpoint route field parameter json schema contract"
    return {"u": "/docs/reference", "t": "API reference", "k": words, "w": _REFERENCE_WEIGHT, "c": [], "s": operations}
