"""A proxy that is not trusted is noticed: behind it everybody is one address."""

import io
import ipaddress
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
from starlette.requests import Request

from malipo import clock, log
from malipo.api.health import readyz
from malipo.api.parts import ApiParts
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.http.client_address import UntrustedProxies
from malipo.http_server.app import WebApplication
from malipo.settings import Settings
from tests.api.http.applications import get
from tests.api.http.connections import Place, serving
from tests.api.http.test_sites import logged_in
from tests.conftest import NO_LIMITS, Merchant, Running, until_ready

PROXY = "10.7.0.1"


class Time:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def request(peer: str = PROXY, **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw, "client": (peer, 1)})


def refused_addresses(stream: io.StringIO) -> list[str]:
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [line["address"] for line in lines if line["event"] == "proxy.not_trusted"]


def test_it_is_said_once_and_again_every_hour() -> None:
    stream = io.StringIO()
    log.configure(level="info", stream=stream)
    time = Time()
    proxies = UntrustedProxies((), time)
    for _ in range(3):
        proxies.look(request(x_forwarded_for="196.41.7.9"))
    assert refused_addresses(stream) == [PROXY]
    time.now += timedelta(minutes=61)
    assert proxies.warning is None
    proxies.look(request(x_forwarded_for="196.41.7.9"))
    assert refused_addresses(stream) == [PROXY, PROXY]


def test_nothing_is_said_of_a_proxy_that_is_trusted_nor_of_a_client_of_its_own() -> None:
    proxies = UntrustedProxies((ipaddress.ip_network("10.7.0.0/16"),), Time())
    proxies.look(request(x_forwarded_for="196.41.7.9"))
    proxies.look(request(peer="196.41.7.9"))
    assert proxies.warning is None


async def test_readyz_is_ready_and_warns(database: Database) -> None:
    service = assemble(Settings(), database)
    assert b"warnings" not in (await readyz(ApiParts.of(service), request())).body
    service.health.untrusted_proxies.look(request(x_forwarded_for="196.41.7.9"))
    answer = await readyz(ApiParts.of(service), request())
    assert answer.status_code == 200
    (warning,) = json.loads(bytes(answer.body))["warnings"]
    assert PROXY in warning
    assert "MALIPO_TRUSTED_PROXIES" in warning
    await service.finish()


@pytest.fixture
async def sites(service: Service) -> AsyncIterator[Place]:
    async with serving(WebApplication(service, most_pages=3)) as place:
        yield place


FORWARDED = b"x-forwarded-for: 196.41.7.9"


@pytest.mark.parametrize("way", ["key", "cookie", "token"])
async def test_it_is_noticed_in_the_requests_of_whoever_is_known_and_no_stranger_makes_us_warn(
    sites: Place, service: Service, database: Database, merchant: Merchant, way: str
) -> None:
    """Whoever did could have an operator trust an address of theirs."""
    cookie = await logged_in(service, database, merchant)
    session_id = service.accounts.cookies.session_of(cookie.partition(b"=")[2].decode())
    assert session_id is not None
    async with database.begin() as tx:
        granted = await service.accounts.sessions.grant(tx, session_id, clock.now())
    path, header = {
        "key": ("/v1/wallet", b"x-api-key: " + merchant.key.encode()),
        "cookie": ("/dashboard/wallet", cookie),
        "token": ("/merchant/people", b"authorization: Bearer " + granted.token.encode()),
    }[way]
    line = await sites.call()
    for path_of_stranger in (path, "/dashboard/login", "/operator/login"):
        await line.say(get(path_of_stranger, FORWARDED))
        assert (await line.read_answer()).status in (200, 303, 401)
    assert service.health.untrusted_proxies.warning is None
    await line.say(get(path, header, FORWARDED))
    assert (await line.read_answer()).status == 200
    assert "127.0.0.1" in str(service.health.untrusted_proxies.warning)


async def test_at_the_start_it_is_said_if_no_proxy_is_named(start: Callable[..., Running], database_url: str) -> None:
    said = []
    settings: list[dict[str, str]] = [{}, {"trusted_proxies": "10.0.0.5"}]
    for proxies in settings:
        running = await until_ready(start("api", database_url=database_url, **proxies, **NO_LIMITS))
        said.append("proxy.none_trusted" in running.log.read_text())
    assert said == [True, False]
