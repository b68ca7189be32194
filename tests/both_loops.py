"""For files of tests that run on both event loops: they import `anyio_backend`."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import leave_shared_loop


@pytest.fixture(scope="module", params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    """uvloop is what runs in production; it does not break in the same places."""
    leave_shared_loop(request)
    yield "asyncio", {"use_uvloop": request.param}
    leave_shared_loop(request)


def is_on(backend: tuple[str, dict[str, Any]]) -> bool:
    """Whether a test runs on the loop that it names."""
    is_uvloop = type(asyncio.get_running_loop()).__module__.startswith("uvloop")
    return is_uvloop is backend[1]["use_uvloop"]
