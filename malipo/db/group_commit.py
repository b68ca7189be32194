"""Group commit: callers who arrive together share one transaction.

Callers that arrive during a commit wait, and share the next one. So a single caller is committed at once, and many
callers share one flush to disk. A group may pause between commits that follow one another, so that more callers share
each: a commit costs as much processor time as about fifteen of its callers (decision 51).

An act may run more than once for the same callers, so it must be safe to repeat: ids are generated before the first
try, and money moves only for rows that did not exist. `again` says that an earlier try may have been committed, and
its answer lost (in doubt).

Some requests need no transaction, because one statement does all of their work and commits by itself (`fast_path`,
decision 50). It is tried first; requests that it did not do go into a transaction.

While the database is away, each caller waits until its own deadline (`retry.py`). A caller whose deadline has passed is
answered and dropped from the batch, which goes on for the others.
"""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from malipo import clock, log, randomness, tracing
from malipo.db import Conn, ConnectionLost, Contention, Database, DiskFull, ReadOnly, Tx, retry
from malipo.db.pace import Pace
from malipo.errors import OutcomeUnknown, Refusal, Unavailable, ensure
from malipo.metrics.process_metrics import Metrics

if TYPE_CHECKING:
    from malipo.tracing.context import LazySpan

Request = TypeVar("Request", contravariant=True)
Answer = TypeVar("Answer", covariant=True)
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")
_Given = TypeVar("_Given")
_Granted = TypeVar("_Granted")

# The most callers that share a transaction.
MOST_CALLERS = 256
# How often queued callers are checked for expiry while a batch does not end.
_SWEEP_SECONDS = 0.5
# A queue that moves is not checked: waiting behind others is no outage.
_STUCK_SECONDS = 1.0


class GroupAct(Protocol[Request, Answer]):
    """Acts for many callers at once: one answer for each request, in the same order."""

    def __call__(self, tx: Tx, requests: Sequence[Request], /, *, again: bool) -> Awaitable[Sequence[Answer]]: ...


class FastPath(Protocol[Request, Answer]):
    """One statement that acts for many callers and is its own transaction: it does everything or nothing."""

    def may(self, request: Request, /) -> bool:
        """Whether the statement may be able to do this request."""

    def __call__(self, connection: Conn, requests: Sequence[Request], /) -> Awaitable[Sequence[Answer | None]]:
        """One answer for each request, in the same order; None for a request that was not done."""


@dataclass(eq=False, slots=True)
class _Caller(Generic[_Request, _Answer]):
    request: _Request
    answer: asyncio.Future[_Answer]
    deadline: float  # by the event loop's clock
    in_doubt: bool = field(default=False)
    work: "LazySpan | None" = field(default=None)  # the caller's span, if the request is traced

    @property
    def has_left(self) -> bool:
        return self.answer.done()

    def give(self, answer: _Answer) -> None:
        if not self.has_left:
            self.answer.set_result(answer)

    def fail(self, error: BaseException) -> None:
        if not self.has_left:
            self.answer.set_exception(error)


class GroupCommit(Generic[_Request, _Answer]):
    """One act and its queue. `lanes` is how many transactions may be under way at once."""

    def __init__(
        self,
        database: Database,
        act: GroupAct[_Request, _Answer],
        *,
        patience_seconds: float,
        lanes: int = 1,
        most: int = MOST_CALLERS,
        needs_transaction: bool = True,
        fast_path: FastPath[_Request, _Answer] | None = None,
        pace: Pace | None = None,
        name: str = "",
        observe: Callable[[int, float], None] | None = None,
    ) -> None:
        self._pace = pace
        self._began_at = -math.inf
        self._begin = database.begin if needs_transaction else database.read
        self._read = database.read
        self._act = act
        self._fast_path = fast_path
        self._patience = patience_seconds
        self._idle = lanes
        self._most = most
        self._name = name
        # Reads are not traced, because authentication runs before the payment, and so its trace, is known.
        self._is_traced = needs_transaction
        self._observe = observe
        self._waiting: deque[_Caller[_Request, _Answer]] = deque()
        self._drains: set[asyncio.Task[None]] = set()
        self._moved_at = 0.0  # when the database last answered or the queue was last empty
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def depth(self) -> int:
        """The number of waiting callers."""
        return len(self._waiting)

    async def __call__(self, request: _Request) -> _Answer:
        return await self.submit(request)

    def submit(self, request: _Request, *, deadline: float | None = None) -> asyncio.Future[_Answer]:
        """Submit a request, and return its future answer. Without a deadline, that of the current HTTP request is
        used."""
        loop = asyncio.get_running_loop()
        if deadline is None:
            deadline = retry.deadline_of(self._patience)
        caller: _Caller[_Request, _Answer] = _Caller(request, loop.create_future(), deadline)
        if tracing.active is not None:
            caller.work = tracing.active.work()
        self._waiting.append(caller)
        if self._idle:
            self._idle -= 1
            if not self._drains:
                self._moved_at = clock.loop_time()
            if self._sweeping is None:
                self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep)
            # A task of its own, so that the commit goes on for the others if a caller is cancelled.
            drain = loop.create_task(self._drain())
            self._drains.add(drain)
            drain.add_done_callback(self._drains.discard)
        return caller.answer

    async def finish(self) -> None:
        """Return when every caller has its answer."""
        while self._drains:
            await asyncio.wait(set(self._drains))

    async def _drain(self) -> None:
        # The first caller began this task, but it logs about all callers.
        log.bind()
        if tracing.active is not None:
            tracing.active.leave_work()
        try:
            while self._waiting:
                await self._pause()
                if not (callers := self._take_batch()):
                    break
                try:
                    if self._fast_path is not None:
                        callers = await self._run_by_fast_path(self._fast_path, callers)
                    if callers:
                        await self._run(callers)
                except BaseException as error:
                    for caller in callers:
                        caller.fail(error)
                    if not isinstance(error, Exception):
                        raise
        finally:
            self._idle += 1

    async def _pause(self) -> None:
        """Pause before a commit, unless enough time has passed since the last one, or the batch is full."""
        if self._pace is not None:
            self._began_at = await self._pace.rest(self._began_at, lambda: len(self._waiting), most=self._most)

    def _take_batch(self) -> list[_Caller[_Request, _Answer]]:
        callers: list[_Caller[_Request, _Answer]] = []
        while self._waiting and len(callers) < self._most:
            caller = self._waiting.popleft()
            if not caller.has_left:
                callers.append(caller)
        return callers

    def _sweep(self) -> None:
        """Answer queued callers whose deadline has passed. Nothing was tried for them."""
        loop = asyncio.get_running_loop()
        if self._waiting and clock.loop_time() - self._moved_at > _STUCK_SECONDS:
            self._waiting = deque(self._still_waiting(self._waiting, clock.loop_time(), "the database is away"))
        self._sweeping = loop.call_later(_SWEEP_SECONDS, self._sweep) if self._drains else None

    async def _run_by_fast_path(
        self, fast_path: FastPath[_Request, _Answer], callers: list[_Caller[_Request, _Answer]]
    ) -> list[_Caller[_Request, _Answer]]:
        """Try the fast path. Returns the callers that need a transaction: their request was not done, or it is in
        doubt."""
        quick = [caller for caller in callers if fast_path.may(caller.request)]
        if not quick:
            return callers
        try:
            answers = await self._commit(quick, partial(self._try_fast_path, fast_path))
        except (ConnectionLost, Contention) as error:
            for caller in quick:
                caller.in_doubt |= error.in_doubt
            return callers
        except Exception as error:
            # The statement wrote nothing. A transaction will find the request that caused the error.
            log.debug("group.fast_path_failed", callers=len(quick), reason=type(error).__name__)
            return callers
        self._moved_at = clock.loop_time()
        for caller, answer in zip(quick, answers, strict=True):
            if answer is not None:
                caller.give(answer)
        return [caller for caller in callers if not caller.has_left]

    async def _try_fast_path(
        self, fast_path: FastPath[_Request, _Answer], callers: list[_Caller[_Request, _Answer]]
    ) -> Sequence[_Answer | None]:
        began, seconds = clock.loop_time(), self._seconds_for(callers)
        has_begun = False
        try:
            async with asyncio.timeout(seconds), self._read() as connection:
                has_begun = True
                answers = await fast_path(connection, [caller.request for caller in callers])
                ensure(len(answers) == len(callers), "an act answers everybody")
        except (ConnectionLost, TimeoutError) as error:
            # The statement is its own COMMIT. A server that is read-only or full did nothing.
            in_doubt = has_begun and not isinstance(error, ReadOnly | DiskFull)
            raise ConnectionLost(str(error) or "the database did not answer in time", in_doubt=in_doubt) from error
        if self._observe is not None and (done := sum(answer is not None for answer in answers)):
            self._observe(done, clock.loop_time() - began)
        return answers

    async def _run(self, callers: list[_Caller[_Request, _Answer]]) -> bool:
        """Commit for these callers, however often the database goes away. Returns whether it answered before all
        deadlines."""
        tries = 0
        while True:
            tries += 1
            try:
                answers = await self._commit(callers, self._try_commit)
            except (ConnectionLost, Contention) as error:
                for caller in callers:
                    caller.in_doubt |= error.in_doubt
                pause = randomness.between(0.02, 0.1) * min(tries, 5)
                callers = self._still_waiting(callers, clock.loop_time() + pause, str(error))
                if not callers:
                    return False
                await asyncio.sleep(pause)
            except Exception as error:
                if len(callers) > 1:
                    log.warning("group.split", callers=len(callers), reason=type(error).__name__)
                    return await self._run_each(callers)
                callers[0].fail(error)
                return True
            else:
                self._moved_at = clock.loop_time()
                for caller, answer in zip(callers, answers, strict=True):
                    if caller.in_doubt and isinstance(answer, Unavailable):
                        # This try did nothing, but an earlier one may have been committed.
                        caller.fail(OutcomeUnknown())
                    else:
                        caller.give(answer)
                return True

    async def _run_each(self, callers: list[_Caller[_Request, _Answer]]) -> bool:
        """Commit each caller alone, so that bad data of one fails no other.

        While the database is away, callers whose deadline has passed do not wait one after the other.
        """
        has_answered = True
        for caller in callers:
            if has_answered or self._still_waiting([caller], clock.loop_time(), "the database is away"):
                has_answered = await self._run([caller])
        return has_answered

    async def _commit(
        self,
        callers: list[_Caller[_Request, _Answer]],
        attempt: Callable[[list[_Caller[_Request, _Answer]]], Awaitable[Sequence[_Given]]],
    ) -> Sequence[_Given]:
        if tracing.active is None or not self._is_traced:
            return await attempt(callers)
        began, failure = clock.nanoseconds(), None
        try:
            return await attempt(callers)
        except BaseException as error:
            failure = error
            raise
        finally:
            if tracing.active is not None:
                shared_by = (caller.work for caller in callers)
                tracing.active.commit(self._name, shared_by, callers=len(callers), began=began, error=failure)

    async def _try_commit(self, callers: list[_Caller[_Request, _Answer]]) -> Sequence[_Answer]:
        began = clock.loop_time()
        seconds = self._seconds_for(callers)
        again = any(caller.in_doubt for caller in callers)
        has_acted = False
        try:
            async with asyncio.timeout(seconds), self._begin() as tx:
                answers = await self._act(tx, [caller.request for caller in callers], again=again)
                ensure(len(answers) == len(callers), "an act answers everybody")
                has_acted = True
        except TimeoutError:
            # The server hangs. If the act has returned, it hangs inside COMMIT.
            raise ConnectionLost("the database did not answer in time", in_doubt=has_acted) from None
        if self._observe is not None:
            self._observe(len(callers), clock.loop_time() - began)
        return answers

    def _seconds_for(self, callers: list[_Caller[_Request, _Answer]]) -> float:
        """How long a try may take.

        No caller is answered while a try runs, because it might still commit. The earliest deadline does not cut it:
        after an outage some deadline is always near, and no batch would ever be committed.
        """
        return retry.try_seconds(max(caller.deadline for caller in callers), self._patience)

    def _still_waiting(
        self, callers: Iterable[_Caller[_Request, _Answer]], until: float, reason: str
    ) -> list[_Caller[_Request, _Answer]]:
        """The callers whose deadline is later; the others are answered now, with whether their request may have been
        done. No try is under way."""
        waiting, over = [], 0
        for caller in callers:
            if caller.deadline >= until:
                waiting.append(caller)
            else:
                over += 1
                caller.fail(OutcomeUnknown() if caller.in_doubt else Unavailable())
        if over:
            log.error("group.gave_up", callers=over, reason=reason)
        return waiting


class GroupCommits:
    """Makes the groups of a process, each with its metrics."""

    def __init__(self, database: Database, metrics: Metrics, *, patience_seconds: float) -> None:
        self.database = database
        self._metrics = metrics
        self._patience = patience_seconds
        self._made: list[GroupCommit[Any, Any]] = []

    def group(
        self,
        name: str,
        act: GroupAct[_Request, _Answer],
        *,
        lanes: int = 1,
        most: int = MOST_CALLERS,
        least_patience_seconds: float = 0.0,
        needs_transaction: bool = True,
        fast_path: FastPath[_Request, _Answer] | None = None,
        pace: Pace | None = None,
    ) -> GroupCommit[_Request, _Answer]:
        made = GroupCommit(
            self.database,
            act,
            patience_seconds=max(self._patience, least_patience_seconds),
            lanes=lanes,
            most=most,
            needs_transaction=needs_transaction,
            fast_path=fast_path,
            pace=pace,
            name=name,
            observe=self._metrics.observer_of(name),
        )
        self._metrics.watch_queue(name, lambda: made.depth)
        self._made.append(made)
        return made

    async def finish(self) -> None:
        """Return when every request that waits has its answer."""
        await asyncio.gather(*(each.finish() for each in self._made))


def granted(answer: _Granted | Refusal | Unavailable) -> _Granted:
    """Raise a refusal, which is a return value inside a group."""
    if isinstance(answer, Refusal | Unavailable):
        raise answer
    return answer
