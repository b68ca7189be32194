"""The event loop of the simulation: it owns time, and a seed decides who goes next.

Every simulated process has a name, which its tasks and callbacks carry in their context, and a queue of its own that is
served in order, as its own loop would. The seed picks whose turn it is: a process, or an exchange with the database.
When nobody has anything to do, time jumps to the next timer.
"""

import asyncio
import contextvars
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Any

from simulation.history import History
from simulation.memory_network import MemoryNetwork
from simulation.postgres_gate import PostgresGate

PROCESS: contextvars.ContextVar[str] = contextvars.ContextVar("process", default="world")


class LoopStuck(Exception):  # noqa: N818
    """Nobody can go on, and no timer will change that."""


class SimulatedTask(asyncio.Task[Any]):
    """Hashed by a serial number: the order of a set of tasks must not depend on their addresses."""

    def __init__(self, coro: Any, *, loop: "SimulatedLoop", **options: Any) -> None:
        self.serial = next(loop.serials)
        super().__init__(coro, loop=loop, **options)

    def __hash__(self) -> int:
        return self.serial


class SimulatedFuture(asyncio.Future[Any]):
    """Few of them are ever hashed: the number is drawn when one is."""

    _serial = 0

    def __hash__(self) -> int:
        if not self._serial:
            loop: Any = self.get_loop()
            self._serial = next(loop.serials)
        return self._serial


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self, chance: random.Random, gate: PostgresGate, network: MemoryNetwork, history: History) -> None:
        super().__init__()
        self.serials = itertools.count(1)
        self.history = history
        self.gate = gate
        self.network = network
        self.before_step: Callable[[str], None] | None = None
        self._chance = chance
        self._seconds = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._queues: dict[str, deque[asyncio.Handle]] = {}
        self._dead: set[str] = set()
        self._paused_until: dict[str, float] = {}
        self._contexts: dict[str, contextvars.Context] = {}
        self._buried: list[object] = []  # What belonged to the dead is kept: no destructor of theirs may run.
        self.set_task_factory(lambda loop, coro, **options: SimulatedTask(coro, loop=self, **options))
        gate.join(self)
        network.join(self)

    # What asyncio asks of a loop.

    def time(self) -> float:
        return self._seconds

    def call_soon(  # type: ignore[override]
        self, callback: Any, *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if context is None:
            context = contextvars.copy_context()
        handle = asyncio.Handle(callback, arguments, self, context)
        self._queue(handle, context)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._seconds + max(delay, 0.0), callback, *arguments, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, arguments, self, context or contextvars.copy_context())
        heapq.heappush(self._timers, (when, next(self.serials), handle))
        return handle

    def create_future(self) -> Any:
        return SimulatedFuture(loop=self)

    def run_in_executor(self, executor: object, function: Any, *arguments: Any) -> Any:  # type: ignore[override]
        """There are no threads: it is done at once."""
        future = self.create_future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    async def create_unix_connection(self, protocol_factory: Any, path: Any = None, **options: Any) -> Any:
        return self.gate.connect(protocol_factory, str(path), PROCESS.get())

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        return await self.network.connect(protocol_factory, host, port, PROCESS.get(), options.get("sock"))

    async def sock_connect(self, sock: Any, address: Any) -> None:
        sock.address = address

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...

    def _timer_handle_cancelled(self, handle: object) -> None: ...

    # Processes.

    def context_of(self, process: str) -> contextvars.Context:
        """A fresh context that belongs to a process."""
        context = contextvars.Context()
        context.run(PROCESS.set, process)
        return context

    def start(self, process: str, coro: Any) -> Any:
        return self.create_task(coro, context=self.context_of(process))

    def is_dead(self, process: str) -> bool:
        return process in self._dead

    def kill(self, process: str) -> None:
        """As kill -9: nothing of it runs any more, not even a `finally`; its connections close."""
        if process in self._dead:
            return
        self.history.note(self._seconds, "kill", process)
        self._dead.add(process)
        self._buried.append(self._queues.pop(process, None))
        self.gate.abandon(process)
        self.network.abandon(process)

    def pause(self, process: str, seconds: float) -> None:
        """As a machine that is suspended: its timers go off late, and what is sent to it waits."""
        self.history.note(self._seconds, "pause", process, seconds)
        self._paused_until[process] = max(self._paused_until.get(process, 0.0), self._seconds + seconds)

    # Turns.

    def _queue(self, handle: asyncio.Handle, context: contextvars.Context) -> None:
        process = context.get(PROCESS, "world")
        if process in self._dead:
            self._buried.append(handle)
            return
        queue = self._queues.get(process)
        if queue is None:
            queue = self._queues[process] = deque()
        queue.append(handle)

    def _run_once(self) -> None:
        timers, now = self._timers, self._seconds
        while timers and timers[0][0] <= now:
            due: Any = heapq.heappop(timers)[2]
            if not due._cancelled:
                self._queue(due, due._context)
        ready = [process for process, queue in self._queues.items() if queue]
        if self._paused_until:
            ready = [process for process in ready if not self._is_paused(process)]
        choices = len(ready) + self.gate.waiting()
        if not choices:
            self._jump()
            return
        at = self._chance.randrange(choices) if choices > 1 else 0
        if at >= len(ready):
            self.gate.go(at - len(ready))
        else:
            self._step(ready[at])

    def _step(self, process: str) -> None:
        if self.before_step is not None:
            self.before_step(process)
        queue = self._queues.get(process)
        if not queue:
            return  # It was killed here.
        handle: Any = queue.popleft()
        if not handle._cancelled:
            self.history.turn(process)
            handle._run()

    def _is_paused(self, process: str) -> bool:
        return self._paused_until.get(process, 0.0) > self._seconds

    def _jump(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        moments = [until for until in self._paused_until.values() if until > self._seconds]
        if self._timers:
            moments.append(self._timers[0][0])
        if not moments:
            raise LoopStuck(f"nobody has anything to do at {self._seconds:.3f} s; {self.gate.describe()}")
        self._seconds = min(moments)

    def close(self) -> None:
        self.gate.close()
        super().close()
