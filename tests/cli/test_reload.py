"""SIGHUP to `malipo serve`: other children in the place of those that run, or everything as it was."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from malipo.http_server.listen import CannotListen, listeners
from malipo.settings import Settings
from tests.cli.test_child_processes import child, is_alive, logged, until
from tests.conftest import Running, free_port, until_ready


async def test_a_reload_that_cannot_start_leaves_everything_as_it_was_and_the_next_one_replaces_it(
    start: Callable[..., Running], database_url: str, tmp_path: Path
) -> None:
    address = tmp_path / "database-url"
    address.write_text(database_url)
    port = free_port()
    serve = await until_ready(start("serve", database_url_file=address, worker_metrics_port=port))
    worker = await until(lambda: child(serve, "malipo", "worker"))
    await until(lambda: logged(serve, "worker.started"))  # It has read its settings.
    api = child(serve, "malipo", "api")
    assert api is not None

    address.write_text("nonsense")
    serve.process.send_signal(signal.SIGHUP)
    await until(lambda: logged(serve, "serve.not_reloaded"), seconds=60)
    assert (child(serve, "malipo", "api"), child(serve, "malipo", "worker")) == (api, worker)
    await until_ready(serve)

    address.write_text(database_url)
    os.kill(worker, signal.SIGSTOP)  # It takes a while to end, and keeps its port.
    serve.process.send_signal(signal.SIGHUP)
    await until(lambda: logged(serve, "api.started") == 2, seconds=60)
    await asyncio.sleep(3)
    os.kill(worker, signal.SIGCONT)
    await until(lambda: logged(serve, "serve.reloaded"), seconds=60)
    assert not is_alive(api)
    assert not is_alive(worker)
    await until_ready(serve)
    await until(lambda: logged(serve, "worker.listening") == 2)
    assert logged(serve, "child.ended") == 0, "the second worker has the port of the first"
    assert serve.stop() == 0


@pytest.mark.slow
async def test_a_worker_ends_only_when_the_next_one_works(start: Callable[..., Running], database_url: str) -> None:
    serve = await until_ready(start("serve", database_url=database_url))
    await until(lambda: logged(serve, "worker.started"))
    serve.process.send_signal(signal.SIGHUP)
    await until(lambda: logged(serve, "serve.reloaded"), seconds=60)
    text = serve.log.read_text()
    assert text.rindex("worker.started") < text.index("worker.stopped")
    assert serve.stop() == 0


def test_a_socket_that_is_handed_over_is_known_by_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as given:
        port = given.getsockname()[1]
        assert listeners(Settings(port=port), [given]) == [given]
        with pytest.raises(CannotListen, match=f"A socket on port {port} was handed over, and MALIPO_PORT is 80"):
            listeners(Settings(port=80), [given])
        both = listeners(Settings(port=free_port(), operator_port=port), [given])
        assert both[1] is given
        both[0].close()


@pytest.mark.slow
async def test_serve_waits_for_its_worker_as_long_as_the_worker_may_wait(
    start: Callable[..., Running], database_url: str
) -> None:
    """A worker that stands still for longer than the default is not killed if it was given more."""
    serve = await until_ready(start("serve", database_url=database_url, worker_stop_seconds=30))
    worker = await until(lambda: child(serve, "malipo", "worker"))
    await until(lambda: logged(serve, "worker.started"))
    os.kill(worker, signal.SIGSTOP)
    serve.process.terminate()
    await asyncio.sleep(17)
    os.kill(worker, signal.SIGCONT)
    assert await asyncio.to_thread(serve.process.wait, 20) == 0
    assert (logged(serve, "worker.stopped"), logged(serve, "child.killed")) == (1, 0)
