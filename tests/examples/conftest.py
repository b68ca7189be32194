"""Each example receiver, started once for a file of tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.examples.example_receivers import LANGUAGES, Shop
from tests.examples.signed_webhooks import NEW, OLD


@pytest.fixture(scope="module", params=LANGUAGES)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """It knows two secrets, as during a rotation, and has orders that nobody has paid."""
    shop = Shop(request.param, tmp_path_factory.mktemp("shop"), secrets=(OLD, NEW), workers=4)
    try:
        yield shop.sell().start()
    finally:
        shop.kill()


@pytest.fixture
def order(shop: Shop) -> int:
    """One that no other test has touched."""
    return next(shop.orders)


@pytest.fixture(params=LANGUAGES)
def open_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Shop]]:
    """Opens a shop for one test alone, and closes it however the test ends."""
    opened: list[Shop] = []

    def open_one(*secrets: str) -> Shop:
        opened.append(Shop(request.param, tmp_path, secrets=secrets))
        return opened[-1].sell().start()

    yield open_one
    for each in opened:
        each.kill()
