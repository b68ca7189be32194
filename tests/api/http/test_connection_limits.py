"""How many connections there may be, and what they may hold all together: the slow make room, the whole is answered."""

import asyncio

from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from malipo.api.http.connection_limits import ConnectionLimits, most_connections
from tests.api.http.applications import POST, Gated, answer, body_of, get, hello
from tests.api.http.connections import Line, Place, serving, until
from tests.api.raw_http import request

MOST = 8


async def _call(place: Place, number: int, *sent: bytes) -> list[Line]:
    """So many lines, which have said this."""
    lines = []
    for _ in range(number):
        lines.append(await place.call())
        await lines[-1].say(*sent)
    return lines


async def test_whoever_sends_nothing_or_half_a_request_makes_room_for_others() -> None:
    for sent in (b"", get()[:-1], POST[:-1]):
        app = Gated("/whole")
        async with serving(app) as place:
            ConnectionLimits.of(place.state).most = MOST
            slow = await _call(place, MOST, sent)
            whole = await _call(place, 1, get("/whole"))

            assert (await whole[0].read_answer()).body == b"/whole"
            assert await slow[0].read_rest() == b""
            assert await slow[-1].is_silent()


async def test_of_many_several_make_room_at_once() -> None:
    async with serving(hello) as place:
        ConnectionLimits.of(place.state).most = 32
        slow = await _call(place, 32, b"")
        await _call(place, 1, b"")
        assert [await each.read_rest() for each in slow[:2]] == [b"", b""]
        assert await slow[2].is_silent()


async def test_whoever_has_been_idle_longest_makes_room() -> None:
    async with serving(hello) as place:
        ConnectionLimits.of(place.state).most = MOST
        idle = await _call(place, MOST, get())
        for each in idle:
            await each.read_answer()
        for each in [*idle[1:], idle[0]]:
            await each.say(get())
            await each.read_answer()
        new = (await _call(place, 1, get()))[0]

        assert (await new.read_answer()).body == b"hello"
        assert await idle[1].read_rest() == b""
        assert await idle[0].is_silent()


async def test_nobody_who_is_being_answered_makes_room() -> None:
    app = Gated()
    async with serving(app) as place:
        ConnectionLimits.of(place.state).most = MOST
        busy = await _call(place, MOST, get("/slow"))
        new = await place.call()
        refused = await new.read_answer()
        assert (refused.status, refused.headers["x-error-code"]) == (503, "unavailable")
        assert await new.read_rest() == b""

        app.let("/slow")
        for each in busy:
            assert (await each.read_answer()).body == b"/slow"


async def test_lines_that_have_ended_leave_their_room() -> None:
    async with serving(hello) as place:
        limits = ConnectionLimits.of(place.state)
        limits.most = MOST
        for _ in range(3 * MOST):
            line = await place.call()
            await line.say(get())
            await line.read_answer()
            await line.hang_up()
        assert not limits.connections
        assert not limits.incomplete


async def _read_all(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"%d" % len(await body_of(receive)))


async def test_when_all_hold_too_much_whoever_wants_more_is_refused_and_what_is_whole_is_answered() -> None:
    async with serving(_read_all) as place:
        limits = ConnectionLimits.of(place.state)
        limits.most_bytes = 100_000
        large = request("POST", "/", b"x" * 60_000)
        (first,) = await _call(place, 1, large[:-1])
        second = await place.call()
        second.throw(large[:-1])
        refused = await second.read_answer()
        assert (refused.status, refused.headers["x-error-code"]) == (503, "unavailable")
        assert await second.read_rest() == b""

        (other,) = await _call(place, 1, POST)
        assert (await other.read_answer()).body == b"10"
        await first.say(large[-1:])
        assert (await first.read_answer()).body == b"60000"
        await until(lambda: limits.held_bytes == 0)


async def test_when_all_hold_too_much_whoever_holds_most_goes_though_another_wants_more() -> None:
    async with serving(_read_all) as place:
        ConnectionLimits.of(place.state).most_bytes = 100_000
        (large,) = await _call(place, 1, request("POST", "/", b"x" * 60_000)[:-1])
        small = request("POST", "/", b"x" * 45_000)
        (other,) = await _call(place, 1, small[:-1])
        assert (await large.read_answer()).status == 503
        await other.say(small[-1:])
        assert (await other.read_answer()).body == b"45000"


async def test_requests_behind_one_that_is_being_answered_are_dropped_when_all_hold_too_much() -> None:
    app = Gated("/x")
    async with serving(app) as place:
        ConnectionLimits.of(place.state).most_bytes = 1000
        line = await place.call()
        line.throw(get("/slow"))
        await until(lambda: app.begun == ["/slow"])
        await line.say(get("/x") * 100)
        app.let("/slow")

        answers = await line.read_answer()
        assert (answers.body, answers.headers["connection"]) == (b"/slow", "close")
        assert await line.read_rest() == b""
        assert app.begun == ["/slow"]


async def test_answers_that_nobody_reads_are_counted_too() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"x" * 20_000_000)

    async with serving(app) as place:
        limits = ConnectionLimits.of(place.state)
        limits.most_bytes = 1_000_000
        line = await place.call()
        await line.say(get())
        async with asyncio.timeout(5):
            await line.other_end.is_lost.wait()
        assert limits.held_bytes == 0


class _Silent:
    """A connection that has sent nothing, and whose end is noticed later."""

    address: str | None = None
    incomplete_since: float | None = 0.0
    idle_since: float | None = None
    held_bytes = 0
    evicted = 0

    def evict(self) -> None:
        self.evicted += 1

    def let_go(self) -> None:
        raise AssertionError("there is enough room for bytes")


def test_whoever_makes_room_makes_it_once_though_several_come_before_its_end_is_noticed() -> None:
    limits = ConnectionLimits()
    limits.most = 2
    silent = [_Silent() for _ in range(4)]
    for each in silent:
        assert limits.admit(each) is None
        limits.incomplete[each] = 0.0
    assert [each.evicted for each in silent] == [1, 1, 0, 0]


def test_a_server_has_the_limits_that_the_documents_name() -> None:
    state = ServerState()
    limits = ConnectionLimits.of(state)
    assert (limits.most, limits.most_bytes) == (10_000, 64 * 1024 * 1024)
    assert ConnectionLimits.of(state) is limits, "one for all connections"


def test_the_number_of_connections_follows_the_number_of_files() -> None:
    assert most_connections(files=128, database_pool=10) == 54
    assert most_connections(files=65_536, database_pool=10) == 10_000
    assert most_connections(files=64, database_pool=10) == 16
