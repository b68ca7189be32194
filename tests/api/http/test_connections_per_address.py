"""How many connections one address may have: whoever does nothing makes room for the others there, and then none does.

The tests' own address is one of this machine, which is not counted, so they take that rule out.
"""

import pytest

from malipo.api.http.address_limit import LOOPBACK, AddressLimit
from malipo.api.http.connection_limits import ConnectionLimits
from malipo.http_server.serve import limit_connections
from malipo.settings import Settings
from malipo.settings.parsers import networks
from tests.api.http.applications import POST, Gated, get, hello
from tests.api.http.connections import Line, Place, serving

MOST = 4
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"


def limits_of(place: Place, *, stalled_seconds: float = 0.0, uncounted: str = "") -> AddressLimit:
    limits = ConnectionLimits.of(place.state).per_address
    limits.most = MOST
    limits.stalled_seconds = stalled_seconds
    limits.uncounted = networks(uncounted) if uncounted else ()
    return limits


async def _call(place: Place, number: int, sent: bytes, *, address: str = HERE) -> list[Line]:
    lines = []
    for _ in range(number):
        lines.append(await place.call(address=address))
        await lines[-1].say(sent)
    return lines


async def _is_refused(line: Line) -> bool:
    answer = await line.read_answer()
    assert (answer.status, answer.headers["x-error-code"]) == (503, "unavailable")
    assert (answer.headers["connection"], answer.headers["retry-after"]) == ("close", "5")
    assert b"from your address" in answer.body
    return await line.read_rest() == b""


async def test_one_address_has_only_so_many_connections_and_others_have_theirs() -> None:
    app = Gated("/quick")
    async with serving(app) as place:
        limits_of(place)
        busy = await _call(place, MOST, get("/slow"))
        assert await _is_refused(await place.call())
        (other,) = await _call(place, 1, get("/quick"), address=ELSEWHERE)
        assert (await other.read_answer()).body == b"/quick"

        app.let("/slow")
        for each in busy:
            assert (await each.read_answer()).body == b"/slow"


async def test_connections_that_have_ended_leave_their_room() -> None:
    async with serving(hello) as place:
        limits = limits_of(place)
        for _ in range(3 * MOST):
            (line,) = await _call(place, 1, get())
            assert (await line.read_answer()).body == b"hello"
            await line.hang_up()
        assert limits.addresses == 0


@pytest.mark.parametrize("sent", [b"", get()[:-1], POST[:-1]])
async def test_whoever_sends_nothing_for_a_while_makes_room_for_others_of_the_address(sent: bytes) -> None:
    async with serving(Gated("/whole")) as place:
        limits_of(place)
        (other,) = await _call(place, 1, sent, address=ELSEWHERE)
        slow = await _call(place, MOST, sent)
        (whole,) = await _call(place, 1, get("/whole"))

        assert (await whole.read_answer()).body == b"/whole"
        assert await slow[0].read_rest() == b""
        assert await slow[1].is_silent()
        assert await other.is_silent()


async def test_whoever_has_been_idle_longest_makes_room_for_others_of_the_address() -> None:
    async with serving(hello) as place:
        limits_of(place)
        idle = await _call(place, MOST, get())
        for each in idle:
            await each.read_answer()
        await idle[0].say(get())
        await idle[0].read_answer()
        (new,) = await _call(place, 1, get())

        assert (await new.read_answer()).body == b"hello"
        assert await idle[1].read_rest() == b""
        assert await idle[0].is_silent()


@pytest.mark.parametrize("sent", [b"", get()])
async def test_nobody_makes_room_who_has_only_just_begun_or_been_answered(sent: bytes) -> None:
    async with serving(hello) as place:
        limits_of(place, stalled_seconds=60)
        lines = await _call(place, MOST, sent)
        for each in lines if sent else []:
            await each.read_answer()
        assert await _is_refused(await place.call())
        for each in lines:
            assert await each.is_silent()


@pytest.mark.parametrize("uncounted", ["127.0.0.0/24", ",".join(str(each) for each in LOOPBACK)])
async def test_the_connections_of_proxies_and_of_this_machine_are_not_counted(uncounted: str) -> None:
    app = Gated()
    async with serving(app) as place:
        limits_of(place, uncounted=uncounted)
        busy = await _call(place, 3 * MOST, get("/slow"))
        app.let("/slow")
        for each in busy:
            assert (await each.read_answer()).body == b"/slow"


async def test_without_a_limit_nobody_is_counted() -> None:
    async with serving(hello) as place:
        limits = limits_of(place)
        limits.most = 0
        for each in await _call(place, 3 * MOST, get()):
            assert (await each.read_answer()).body == b"hello"
        assert limits.addresses == 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("127.0.0.1", None),
        ("::ffff:127.0.0.1", None),
        ("::1", None),
        ("10.9.0.7", None),
        ("::ffff:10.9.0.7", None),
        (None, None),
    ],
)
def test_an_address_is_counted_as_itself_or_as_its_network_or_not_at_all(
    address: str | None, counted: str | None
) -> None:
    limits = AddressLimit()
    limits.most = MOST
    limits.uncounted = (*LOOPBACK, *networks("10.9.0.0/16"))
    assert limits.counted(address) == counted


def test_the_settings_say_how_many_and_which_proxies() -> None:
    limits = ConnectionLimits()
    settings = Settings(connections_per_address=7, trusted_proxies=networks("10.9.0.0/16"))
    limit_connections(limits, settings, most=100)
    assert (limits.most, limits.per_address.most) == (100, 7)
    assert [limits.per_address.counted(each) for each in ("127.0.0.1", "10.9.0.7", "10.1.2.3")] == [
        None,
        None,
        "10.1.2.3",
    ]
