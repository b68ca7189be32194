"""Group commit: callers who arrive together share one transaction.

There is no timer. Callers that arrive during a commit wait, and share the next one. So a single caller is committed at
once, and many callers share one flush to disk.

An act may run more than once for the same callers, so it must be safe to repeat: ids are generated before the first
try, and money moves only for rows that did not exist. `again` says that an earlier try may have been committed, and
its answer lost (in doubt).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from malipo import log, randomness
from malipo.db import ConnectionLost, Contention, Database, Tx
from malipo.errors import OutcomeUnknown, Unavailable

Ask = TypeVar("Ask", contravariant=True)
Answer = TypeVar("Answer", covariant=True)
_Ask = TypeVar("_Ask")
_Answer = TypeVar("_Answer")


class Act(Protocol[Ask, Answer]):
    """What is done for many at once: one answer for each ask, in the same order."""

    def __call__(self, tx: Tx, asks: Sequence[Ask], /, *, again: bool) -> Awaitable[Sequence[Answer]]: ...


@dataclass(eq=False)
class _Caller(Generic[_Ask, _Answer]):
    ask: _Ask
    answer: asyncio.Future[_Answer]
    arrived: float
    in_doubt: bool = field(default=False)

    @property
    def has_left(self) -> bool:
        return self.answer.done()

    def give(self, answer: _Answer) -> None:
        if not self.has_left:
            self.answer.set_result(answer)

    def fail(self, error: BaseException) -> None:
        if not self.has_left:
            self.answer.set_exception(error)


class GroupCommit(Generic[_Ask, _Answer]):
    """One act and its queue. `lanes` is how many transactions may be under way at once."""

    def __init__(
        self,
        database: Database,
        act: Act[_Ask, _Answer],
        *,
        patience_seconds: float,
        lanes: int = 1,
        most: int = 256,
        needs_transaction: bool = True,
        observe: Callable[[int, float], None] | None = None,
    ) -> None:
        self._begin = database.begin if needs_transaction else database.read
        self._act = act
        self._patience = patience_seconds
        self._idle = lanes
        self._most = most
        self._observe = observe
        self._waiting: deque[_Caller[_Ask, _Answer]] = deque()
        self._drains: set[asyncio.Task[None]] = set()

    @property
    def depth(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def __call__(self, ask: _Ask) -> _Answer:
        loop = asyncio.get_running_loop()
        caller: _Caller[_Ask, _Answer] = _Caller(ask, loop.create_future(), loop.time())
        self._waiting.append(caller)
        if self._idle:
            self._idle -= 1
            # A task of its own: if a caller is cancelled, the commit of the others goes on.
            drain = loop.create_task(self._drain())
            self._drains.add(drain)
            drain.add_done_callback(self._drains.discard)
        return await caller.answer

    async def finish(self) -> None:
        """Return when every caller has its answer."""
        while self._drains:
            await asyncio.wait(set(self._drains))

    async def _drain(self) -> None:
        try:
            while callers := self._take_batch():
                try:
                    await self._run(callers)
                except BaseException as error:
                    for caller in callers:
                        caller.fail(error)
                    if not isinstance(error, Exception):
                        raise
        finally:
            self._idle += 1

    def _take_batch(self) -> list[_Caller[_Ask, _Answer]]:
        callers: list[_Caller[_Ask, _Answer]] = []
        while self._waiting and len(callers) < self._most:
            caller = self._waiting.popleft()
            if not caller.has_left:
                callers.append(caller)
        return callers

    async def _run(self, callers: list[_Caller[_Ask, _Answer]]) -> bool:
        """Commit for these callers, however often the database goes away. Whether it answered before they gave up."""
        loop = asyncio.get_running_loop()
        deadline = callers[0].arrived + self._patience
        tries = 0
        while True:
            tries += 1
            try:
                # A connection that hangs may take half of the patience, so that there is time for another try.
                answers = await self._commit(callers, seconds=max(min(deadline - loop.time(), self._patience / 2), 1.0))
            except (ConnectionLost, Contention) as error:
                if error.in_doubt:
                    for caller in callers:
                        caller.in_doubt = True
                pause = randomness.between(0.02, 0.1) * min(tries, 5)
                if loop.time() + pause > deadline:
                    self._give_up(callers, error)
                    return False
                await asyncio.sleep(pause)
            except Exception as error:
                if len(callers) > 1:
                    log.warning("group.split", callers=len(callers), reason=type(error).__name__)
                    return await self._run_each(callers)
                callers[0].fail(error)
                return True
            else:
                for caller, answer in zip(callers, answers, strict=True):
                    caller.give(answer)
                return True

    async def _run_each(self, callers: list[_Caller[_Ask, _Answer]]) -> bool:
        """Commit each caller alone, so that bad data of one fails no other. Stop when the database is away."""
        for place, caller in enumerate(callers):
            if not await self._run([caller]):
                self._give_up(callers[place + 1 :], ConnectionLost("the database is away"))
                return False
        return True

    async def _commit(self, callers: list[_Caller[_Ask, _Answer]], *, seconds: float) -> Sequence[_Answer]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        again = any(caller.in_doubt for caller in callers)
        has_acted = False
        try:
            async with asyncio.timeout(seconds), self._begin() as tx:
                answers = await self._act(tx, [caller.ask for caller in callers], again=again)
                assert len(answers) == len(callers), "an act answers everybody"
                has_acted = True
        except TimeoutError:
            # The server hangs. If the act was done, that was inside COMMIT.
            raise ConnectionLost("the database did not answer in time", in_doubt=has_acted) from None
        if self._observe is not None:
            self._observe(len(callers), loop.time() - began)
        return answers

    def _give_up(self, callers: list[_Caller[_Ask, _Answer]], error: Exception) -> None:
        log.error("group.gave_up", callers=len(callers), reason=str(error))
        for caller in callers:
            caller.fail(OutcomeUnknown() if caller.in_doubt else Unavailable())
