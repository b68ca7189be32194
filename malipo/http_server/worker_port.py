"""/healthz, /readyz and /metrics of a worker, on a port of its own, if settings name one. The server is the API's."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from malipo import __version__, log
from malipo.api import errors, responses
from malipo.api.metrics import exposition
from malipo.build import build_id
from malipo.db.readiness import ReadinessCheck
from malipo.http_server.sockets import listen
from malipo.http_server.uvicorn_config import config_of
from malipo.metrics.process_metrics import Metrics
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth


class WorkerApplication:
    def __init__(self, settings: Settings, metrics: Metrics, readiness: ReadinessCheck, loops: LoopHealth) -> None:
        self._settings = settings
        self._metrics = metrics
        self._readiness_check = readiness
        self._loops = loops

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(Request(scope))
        except Exception as error:
            response = errors.answer_to(error)
        response.headers["cache-control"] = "no-store"
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        match request.url.path:
            case "/healthz":
                return self._health()
            case "/readyz":
                return await self._readiness()
            case "/metrics":
                return exposition(self._metrics, self._settings, request)
        raise HTTPException(HTTPStatus.NOT_FOUND)

    def _health(self) -> Response:
        """Whether the process runs and no loop is stuck. Loops run even while the database is away: a restart would not
        help."""
        if stuck := self._loops.stuck:
            reason = f"These loops do not turn: {', '.join(stuck)}."
            return errors.response(HTTPStatus.SERVICE_UNAVAILABLE, "loop_stuck", reason)
        return responses.success({"status": "alive", "version": __version__, "build": build_id()})

    async def _readiness(self) -> Response:
        """Whether the loops can do their work: the state folder and the database are writable. If not, a restart does
        not help: somebody has to change something."""
        if blocked := self._loops.blocked:
            return errors.response(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", " ".join(blocked))
        readiness = await self._readiness_check.look(_nothing_is_missing)
        if readiness.reason is not None:
            return errors.response(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", readiness.reason)
        warnings = [readiness.warning] if readiness.warning is not None else []
        return responses.success({"status": "ready", "warnings": warnings} if warnings else {"status": "ready"})


async def _nothing_is_missing() -> None:
    """A hold or a fence is no fault of the worker: it sends nothing, as intended."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The worker handles the signals."""
        yield


@asynccontextmanager
async def exposed(
    settings: Settings, metrics: Metrics, readiness: ReadinessCheck, loops: LoopHealth
) -> AsyncIterator[None]:
    """Serve the port while the worker runs."""
    if settings.worker_metrics_port is None:
        yield
        return
    host, port = settings.worker_metrics_host, settings.worker_metrics_port
    listener = listen(host, port, setting="MALIPO_WORKER_METRICS_PORT", host_setting="MALIPO_WORKER_METRICS_HOST")
    server = _Server(config_of(WorkerApplication(settings, metrics, readiness, loops)))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    log.info("worker.listening", url=f"http://{host}:{port}")
    try:
        yield
    finally:
        server.should_exit = True
        await serving
