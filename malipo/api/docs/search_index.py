"""The index of the documentation's search: every section of every page, and every operation. The ranking is in
`static/search.js`, and runs in the reader's browser."""

import re
from typing import Any

import msgspec

from malipo.api.docs import guides, markdown, pages, samples

_REFERENCE_WEIGHT = 1.1
_OPERATION_WEIGHT = 0.8
_CODES_WEIGHT = 0.85
_SPACE = re.compile(r"\s+")


def index(contract: dict[str, Any]) -> bytes:
    """JSON: pages with their sections. `k` are words that people search for, `c` are names in code, which lead to their
    page if they are typed whole, `x` is the text, `w` a weight."""
    found = [
        _page(
            page.address,
            page.title,
            page.words,
            page.weight,
            [
                _section(each.heading.text, each.heading.id, each.text.replace("[ ] ", ""))
                for each in guides.guide(page).sections
            ],
        )
        for page in pages.by_name().values()
    ]
    return msgspec.json.encode([*found, _list_of_operations(contract), _error_codes(contract), *_operations(contract)])


def _page(address: str, title: str, words: str, weight: float, sections: list[Any], codes: tuple[str, ...] = ()) -> Any:
    return {"u": address, "t": title, "k": words, "w": weight, "c": codes, "s": sections}


def _section(heading: str, anchor: str, text: str) -> Any:
    return {"h": heading, "a": anchor, "x": _SPACE.sub(" ", text)}


def _list_of_operations(contract: dict[str, Any]) -> Any:
    words = "api reference openapi swagger postman bruno endpoint route field parameter json schema contract"
    areas = ", ".join(tag["name"] for tag in contract["tags"])
    text = f"Every route, field and error: {areas}. As a file: OpenAPI (Swagger) at /openapi.json, Postman, Bruno."
    return _page(pages.REFERENCE, "API reference", words, _REFERENCE_WEIGHT, [_section("API reference", "main", text)])


def _error_codes(contract: dict[str, Any]) -> Any:
    """A section for each code: a reader who types a whole code finds its line."""
    codes = contract["components"]["schemas"]["ErrorCode"]["oneOf"]
    sections = [
        _section("Error codes", "main", "X-Error-Code"),
        *(_section(each["const"], f"code-{each['const']}", each["description"].replace("`", "")) for each in codes),
    ]
    return _page(f"{pages.REFERENCE}/error-codes", "Error codes", "x-error-code", _CODES_WEIGHT, sections)


def _operations(contract: dict[str, Any]) -> list[Any]:
    return [
        _page(
            f"{pages.REFERENCE}/{operation['operationId']}",
            operation["summary"],
            f"{operation['operationId']} {method} {path}",
            _OPERATION_WEIGHT,
            [_section(operation["summary"], "main", _about(method, path, operation))],
            _names(method, path, operation["operationId"]),
        )
        for path, methods in contract["paths"].items()
        for method, operation in methods.items()
    ]


def _names(method: str, path: str, id_: str) -> tuple[str, ...]:
    """The names of an operation in code. A reader who types one of them means this operation."""
    call = samples.CALLS.get(id_)
    methods = () if call is None else (call.method.lower(), samples.in_python(call.method))
    # Some ids are words: who types "refund" wants to read about refunds.
    return (f"{method} {path}", path, *methods, *(() if id_.islower() else (id_.lower(),)))


def _about(method: str, path: str, operation: dict[str, Any]) -> str:
    return f"{method.upper()} {path} {markdown.first_sentence(operation['description']).replace('`', '')}"
