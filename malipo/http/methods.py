"""HTTP methods of a path: HEAD is answered as GET, and a wrong method (OPTIONS too) with 405 and the right ones.

There is no CORS: browsers use the dashboard, which has the same origin, and servers use the API.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar


class HasMethod(Protocol):
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...


SomeRoute = TypeVar("SomeRoute", bound=HasMethod)


def by_path(routes: Iterable[SomeRoute]) -> dict[str, dict[str, SomeRoute]]:
    """One entry for each path, so that the answer to a wrong method can list all the allowed ones."""
    found: dict[str, dict[str, SomeRoute]] = defaultdict(dict)
    for route in routes:
        found[route.path][route.method] = route
    return found


def route_for(method: str, methods: Mapping[str, SomeRoute]) -> SomeRoute:
    """A path that allows GET allows HEAD too; the server leaves the body out."""
    return methods["GET" if method == "HEAD" else method]
