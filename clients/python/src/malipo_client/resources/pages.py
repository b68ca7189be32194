"""The three ways in which the API divides a list into pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from malipo_client.request import Answer, Page, R, Request, document, many

Query = Mapping[str, object]


def older_than_the_last(path: str, kind: type[R], key: str, query: Query) -> Request[Page[R]]:
    """Each page begins behind the last id of the page before, so new entries move nothing."""

    def read(answer: Answer) -> Page[R]:
        found: list[Any] = many(kind, key)(answer)
        is_last = len(found) < int(str(query["limit"]))
        return Page(found, None if is_last else older_than_the_last(path, kind, key, {**query, "before": found[-1].id}))

    return Request("GET", path, read, query=query)


def by_next(path: str, kind: type[R], key: str, query: Query, ids: Mapping[str, str]) -> Request[Page[R]]:
    """The service names the next page."""

    def read(answer: Answer) -> Page[R]:
        before = document(answer).get("next")
        following = by_next(path, kind, key, {**query, "before": before}, ids) if before else None
        return Page(many(kind, key)(answer), following)

    return Request("GET", path, read, query=query, ids=ids)


def by_number(
    path: str,
    kind: type[R],
    key: str,
    query: Query,
    *,
    ids: Mapping[str, str] | None = None,
    is_seen: Callable[[R, R], bool] = lambda entry, last: False,
    last: R | None = None,
    page: int = 1,
) -> Request[Page[R]]:
    """Numbered pages. A new entry moves the others down: what was on the page before is not shown again."""

    def read(answer: Answer) -> Page[R]:
        found = [each for each in many(kind, key)(answer) if last is None or not is_seen(each, last)]
        if page >= document(answer)["pagination"]["pages"]:
            return Page(found, None)
        seen = found[-1] if found else last
        return Page(found, by_number(path, kind, key, query, ids=ids, is_seen=is_seen, last=seen, page=page + 1))

    return Request("GET", path, read, query={**query, "page": page}, ids=ids)
