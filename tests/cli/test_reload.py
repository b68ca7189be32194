"""SIGHUP to `malipo serve`: other children in the place of those that run, or everything as it was."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from malipo.http_server.sockets import CannotListen, listeners
from malipo.settings import Settings
from tests.cli.database_roles import url_of_role
from tests.cli.test_child_processes import child, is_alive, logged, until
from tests.conftest import Running, free_port, until_ready
from tests.journeys.operator_commands import Said, malipo


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
    failed = await reload(serve, tmp_path)
    assert (failed.code, failed.out) == (1, "")
    assert "Not reloaded: " in failed.err
    assert "MALIPO_DATABASE_URL" in failed.err, "the reason, and not that a migration failed"
    assert failed.err.endswith("The processes before go on.\n")
    assert logged(serve, "serve.not_reloaded") == 1
    assert (child(serve, "malipo", "api"), child(serve, "malipo", "worker")) == (api, worker)
    await until_ready(serve)

    address.write_text(database_url)
    os.kill(worker, signal.SIGSTOP)  # It takes a while to end, and keeps its port.
    reloading = asyncio.create_task(reload(serve, None))
    await until(lambda: logged(serve, "api.started") == 2)
    await asyncio.sleep(3)
    os.kill(worker, signal.SIGCONT)
    by_hand = await reloading
    assert (by_hand.code, by_hand.out) == (0, "Reloaded.\n"), by_hand.err
    assert logged(serve, "serve.reloaded") == 1
    assert not is_alive(api)
    assert not is_alive(worker)
    await until_ready(serve)
    await until(lambda: logged(serve, "worker.listening") == 2)
    assert logged(serve, "child.ended") == 0, "the second worker has the port of the first"
    other = await malipo("reload", str(os.getpid()), data_dir=tmp_path / "var")
    assert other.code == 1, "a process that is no malipo serve gets no signal"
    assert "No malipo serve with the process id" in other.err
    assert serve.stop() == 0
    gone = await reload(serve, tmp_path)
    assert (gone.code, "No malipo serve with the process id" in gone.err) == (1, True)


@pytest.mark.parametrize("part", ["api", "worker"])
async def test_api_and_worker_alone_are_reloaded_under_a_role_that_may_not_migrate(
    start: Callable[..., Running], database_url: str, tmp_path: Path, part: str
) -> None:
    """As the units malipo-api and malipo-worker run it."""
    role = await url_of_role(database_url, "app")
    address = tmp_path / "database-url"
    address.write_text(role)
    port = free_port()
    serve = start("serve", "--only", part, database_url_file=address, worker_metrics_port=port)
    await until(lambda: logged(serve, f"{part}.started"))
    before = child(serve, "malipo", part)
    assert before is not None
    assert child(serve, "malipo", {"api": "worker", "worker": "api"}[part]) is None

    address.write_text("nonsense")
    assert (await reload(serve, tmp_path)).code == 1
    assert child(serve, "malipo", part) == before
    address.write_text(role)
    done = await reload(serve, tmp_path)
    assert (done.code, done.out) == (0, "Reloaded.\n"), done.err
    assert child(serve, "malipo", part) not in (before, None)
    assert not is_alive(before)
    assert serve.stop() == 0


async def reload(serve: Running, folder: Path | None) -> Said:
    """As ExecReload does it; without a folder, as somebody does it by hand. It waits as long as the test may take."""
    data_dir = {} if folder is None else {"data_dir": folder / "var"}
    return await malipo("reload", str(serve.process.pid), "--seconds", "600", **data_dir)


@pytest.mark.slow
async def test_a_worker_ends_only_when_the_next_one_works(start: Callable[..., Running], database_url: str) -> None:
    serve = await until_ready(start("serve", database_url=database_url))
    await until(lambda: logged(serve, "worker.started"))
    serve.process.send_signal(signal.SIGHUP)
    await until(lambda: logged(serve, "serve.reloaded"))
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
