"""How a call that is written once becomes a method of both clients.

A method of a resource describes a call and sends nothing. The decorator hands the description to the client: `Malipo`
sends it and returns what it reads, `AsyncMalipo` returns an awaitable of the same. Type checkers see both, with every
argument by its name.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from malipo_client.request import Page, Request

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    P = ParamSpec("P")
else:
    P = TypeVar("P")  # Python 3.9 has no ParamSpec, and only type checkers need it.

T = TypeVar("T")
D = TypeVar("D")
Flow = Generator[Request[Any], Any, T]
"""Several requests, each of which depends on the answer before it."""


class Sync:
    """The mode of `Malipo`."""


class Async:
    """The mode of `AsyncMalipo`."""


Mode = TypeVar("Mode")


class Resource(Generic[Mode]):
    """The calls of one subject."""

    __slots__ = ("_client",)

    def __init__(self, client: Any) -> None:
        self._client = client


class _Described(Generic[P, D]):
    _act: ClassVar[str]

    def __init__(self, describe: Callable[Concatenate[Any, P], D]) -> None:
        self.describe = describe
        functools.update_wrapper(self, describe)  # type: ignore[arg-type]

    def _bound_to(self, resource: Resource[Any] | None) -> Any:
        if resource is None:  # Looked up on the class, as help() does.
            return self
        describe: Any = self.describe
        act = getattr(resource._client, self._act)

        @functools.wraps(describe)
        def method(*arguments: Any, **named: Any) -> Any:
            return act(describe(resource, *arguments, **named))

        return method


class operation(_Described[P, Request[T]]):  # noqa: N801 - a decorator
    """One request."""

    _act = "_send"

    @overload
    def __get__(self, resource: Resource[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[Async], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: type) -> Any:
        return self._bound_to(resource)


class listing(_Described[P, Request[Page[T]]]):  # noqa: N801 - a decorator
    """As many requests as there are pages, each when it is needed."""

    _act = "_iterate"

    @overload
    def __get__(self, resource: Resource[Sync], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, resource: Resource[Async], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, resource: Any, owner: type) -> Any:
        return self._bound_to(resource)


class flow(_Described[P, Flow[T]]):  # noqa: N801 - a decorator
    """Requests until there is a result."""

    _act = "_run"

    @overload
    def __get__(self, resource: Resource[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[Async], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: type) -> Any:
        return self._bound_to(resource)
