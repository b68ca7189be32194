"""What a head may hold: each header costs time, so a few connections with many could stop everybody."""

import pytest

from malipo.api.http.connection_limits import ConnectionLimits
from tests.api.http.applications import hello
from tests.api.http.connections import serving, until


def head(headers: int, *, length: int = 1) -> bytes:
    """Beside the Host."""
    return b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: %s\r\n" % (b"b" * length) * headers + b"\r\n"


@pytest.mark.parametrize("size", [1, 99])
async def test_a_usual_head_is_answered(size: int) -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(head(size))
        assert (await line.read_answer()).status == 200


@pytest.mark.parametrize(
    "sent", [head(100), head(62_000), head(1, length=33_000), head(50, length=700)], ids=["101", "62,001", "one", "all"]
)
async def test_a_head_that_is_too_large_is_refused(sent: bytes) -> None:
    for step in (len(sent), 1000):
        async with serving(hello) as place:
            line = await place.call()
            for at in range(0, len(sent), step):
                line.throw(sent[at : at + step])
            refused = await line.read_answer()
            assert (refused.status, refused.headers["x-error-code"]) == (400, "bad_request")
            assert refused.headers["connection"] == "close"


async def test_when_all_hold_too_much_who_holds_most_goes_and_not_who_asks() -> None:
    async with serving(hello) as place:
        limits = ConnectionLimits.of(place.state)
        limits.most_bytes = 30_000
        greedy = await place.call()
        await greedy.say(head(1, length=29_000)[:-2])
        await until(lambda: limits.held_bytes > 29_000)
        modest = await place.call()
        await modest.say(head(1, length=2_000)[:-2])
        await until(lambda: limits.held_bytes < 29_000)
        await modest.say(b"\r\n")
        assert (await modest.read_answer()).status == 200
        assert (await greedy.read_answer()).status == 503
