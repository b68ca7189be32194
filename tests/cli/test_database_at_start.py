"""A database that is away at start is waited for; one that refuses malipo has another sentence, and is waited for too."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import aiohttp
import pytest

from malipo.db import Database
from malipo.db.embedded import server
from tests.cli.test_child_processes import logged, until
from tests.cli.test_commands import malipo
from tests.conftest import SECRET_KEY, Running, free_port, named, until_ready
from tests.db.servers import data_dir as data_dir
from tests.db.servers import made_once as made_once


@pytest.fixture
def away(data_dir: Path) -> tuple[str, Callable[[], AbstractContextManager[str]]]:
    """The address of a database that is not there, and how it comes."""
    with server(data_dir) as url:
        pass
    return url, lambda: server(data_dir)


async def test_serve_says_that_it_waits_answers_503_and_goes_on_when_the_database_comes(
    start: Callable[..., Running], away: tuple[str, Callable[[], AbstractContextManager[str]]]
) -> None:
    url, database_comes = away
    serve = start("serve", database_url=url)
    await until(lambda: logged(serve, "database.away") and logged(serve, "api.started"))
    async with aiohttp.ClientSession() as http:
        for path, status in (("/healthz", 200), ("/readyz", 503)):
            async with http.get(serve.url + path) as answer:
                assert answer.status == status
    with database_comes():
        await until_ready(serve)
        await until(lambda: logged(serve, "worker.started"))
        assert await asyncio.to_thread(serve.stop) == 0
    assert "Traceback" not in serve.log.read_text()


@pytest.mark.parametrize("command", ["serve", "worker"])
async def test_a_process_that_waits_for_the_database_logs_it_once_and_stops_at_sigterm(
    start: Callable[..., Running], tmp_path: Path, command: str
) -> None:
    running = start(command, database_url=f"postgresql://malipo@/malipo?host={tmp_path}")
    await until(lambda: logged(running, "database.away"))
    if command != "worker":
        await until(lambda: logged(running, "api.started"))
    await asyncio.sleep(2.5)  # Longer than from one try to the next.
    assert running.stop() == 0
    # `serve` and its API each say it.
    assert logged(running, "database.away") == (2 if command == "serve" else 1)
    assert "Traceback" not in running.log.read_text()


async def test_a_database_that_refuses_malipo_is_one_clear_sentence_and_503_until_it_accepts(
    start: Callable[..., Running], database: Database, database_url: str
) -> None:
    name = f"late_{secrets.token_hex(6)}"
    serve = start("serve", database_url=named(database_url, name))
    await until(lambda: logged(serve, "database.away") and logged(serve, "api.started"))
    assert (
        f'PostgreSQL has no such database (MALIPO_DATABASE_URL): database \\"{name}\\" does not exist.'
        in serve.log.read_text()
    )
    async with aiohttp.ClientSession() as http, http.get(f"{serve.url}/readyz") as answer:
        assert answer.status == 503
    async with database.read() as connection:
        await connection.execute(f"CREATE DATABASE {name}")
    await until_ready(serve)
    await until(lambda: logged(serve, "worker.started"))
    assert await asyncio.to_thread(serve.stop) == 0
    assert "Traceback" not in serve.log.read_text()


@pytest.mark.parametrize("command", ["serve", "api", "worker"])
async def test_an_address_that_cannot_be_used_ends_the_start_with_a_sentence(database_url: str, command: str) -> None:
    url = f"{database_url}&sslmode=nonsense"
    done = malipo(command, database_url=url, secret_key=SECRET_KEY, trusted_proxies="127.0.0.1", port=str(free_port()))
    assert done.returncode == 1
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("malipo: MALIPO_DATABASE_URL cannot be used: ")
