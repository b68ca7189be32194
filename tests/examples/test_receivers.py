"""Which webhooks the example receivers accept: one grid, written by hand, for each of them."""

import http.client
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.example_receivers import Shop
from tests.examples.receiver_cases import ACCEPTED, REFUSED
from tests.examples.signed_webhooks import NEW, OLD, STRANGE, event, rotating, signed

LARGEST = 1024 * 1024


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_trace(shop: Shop, order: int, case: str) -> None:
    body = event(order)
    good = signed(body)
    expected, change = REFUSED[case]
    status, answer = shop.take(*change(body, good))
    assert status == expected, answer
    assert shop.paid_by(order) == []
    status, answer = shop.take(body, good)
    assert (status, answer[-11:]) == (200, "marked paid"), "the id was not used up"


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_rightly_signed_is_believed(shop: Shop, order: int, case: str) -> None:
    body = event(order)
    status, answer = shop.take(*ACCEPTED[case](body, signed(body)))
    assert (status, answer[-11:]) == (200, "marked paid")
    assert len(shop.paid_by(order)) == 1


def test_a_shop_with_only_one_of_the_secrets_believes_both_halves_of_a_rotation(
    open_shop: Callable[..., Shop],
) -> None:
    for known, unknown in ((OLD, NEW), (NEW, OLD)):
        shop = open_shop(known)
        body = event(1)
        assert shop.take(body, rotating(body))[0] == 200, "the secret that it knows is one of the two"
        assert shop.paid_by(1)
        other = event(2)
        assert shop.take(other, signed(other, unknown))[0] == 401
        assert shop.take(other, rotating(other, unknown, STRANGE))[0] == 401
        shop.kill()
        shop.db.unlink()


def test_a_body_that_is_too_large_is_refused_and_the_largest_is_not(shop: Shop, order: int) -> None:
    small = event(order, description="")
    body = event(order, description="x" * (LARGEST - len(small)))
    assert len(body) == LARGEST
    assert shop.take(body + b" ", signed(body + b" "))[0] == 413
    assert shop.paid_by(order) == []
    assert shop.take(body, signed(body))[0] == 200
    assert shop.paid_by(order)


def test_a_body_of_unknown_length_is_refused_or_bounded(shop: Shop, order: int) -> None:
    """Python's server cannot read one, PHP's gives an empty body, and Node.js counts while it reads."""
    body = event(order, description="x" * LARGEST)
    connection = http.client.HTTPConnection(shop.url.removeprefix("http://"), timeout=60)
    pieces = (body[start : start + 65536] for start in range(0, len(body), 65536))
    try:
        connection.request("POST", "/", pieces, signed(body), encode_chunked=True)
        assert connection.getresponse().status in (411, 413)
    except ConnectionError:
        pass  # Hung up on, which is no 2xx either.
    finally:
        connection.close()
    assert shop.paid_by(order) == []


def test_only_a_post_is_a_webhook(shop: Shop, order: int) -> None:
    connection = http.client.HTTPConnection(shop.url.removeprefix("http://"), timeout=60)
    body = event(order)
    connection.request("GET", "/", body, signed(body))
    assert connection.getresponse().status in (405, 501)
    connection.close()
    assert shop.paid_by(order) == []


@pytest.mark.parametrize("secrets", [(), ("whsec_",), ("whsec_!" + OLD[7:],), (OLD, "")], ids=repr)
@pytest.mark.parametrize("language", ["python", "node"])
def test_a_receiver_without_a_usable_secret_does_not_start(
    language: str, secrets: tuple[str, ...], tmp_path: Path
) -> None:
    process: subprocess.Popen[str] = Shop(language, tmp_path, secrets=secrets).launch()
    try:
        said, _ = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 1
    assert said.startswith("Set WEBHOOK_SECRET")


@pytest.mark.parametrize("secrets", [(), ("whsec_",), ("whsec_!" + OLD[7:],), (OLD, "")], ids=repr)
@pytest.mark.parametrize("open_shop", ["php"], indirect=True)
def test_php_without_a_usable_secret_believes_nobody(secrets: tuple[str, ...], open_shop: Callable[..., Shop]) -> None:
    """PHP starts anew with each request, so this is the first moment at which it can say so."""
    shop = open_shop(*secrets)
    body = event(1)
    assert shop.take(body, signed(body))[0] == 500
    shop.kill()
    assert any("Set WEBHOOK_SECRET" in line for line in shop.lines)
    assert shop.paid_by(1) == []
