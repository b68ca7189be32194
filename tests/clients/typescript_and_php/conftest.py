"""One process of each client, for as long as the tests run."""

from collections.abc import Iterator

import pytest

from tests.clients.typescript_and_php.programs import Program


@pytest.fixture(scope="session", params=["typescript", "php"])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    yield from _program(request.param)


@pytest.fixture(scope="session")
def typescript() -> Iterator[Program]:
    yield from _program("typescript")


@pytest.fixture(scope="session")
def php() -> Iterator[Program]:
    yield from _program("php")


def _program(language: str) -> Iterator[Program]:
    program = Program.started(language)
    yield program
    program.stop()
