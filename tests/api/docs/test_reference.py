"""The contract as it is served to read: the reference."""

import argparse
import html
import re
import shlex
from string import Template

import pytest
import requests
from anyio.from_thread import start_blocking_portal

from malipo.api import openapi as contracts
from malipo.api.docs import postman
from malipo.outbox.event import TEST_EVENT
from tests.api.contract_world import World
from tests.api.contract_world import world as world
from tests.api.published_contract import PUBLISHED, SENT, operations, resolved


def test_the_contract_tells_the_largest_amount_of_this_installation() -> None:
    contract = contracts.load(max_amount=3_000_000)
    assert contract["components"]["schemas"]["Amount"]["maximum"] == 3_000_000


def test_the_page_shows_every_route_and_every_error_code(world: World) -> None:
    page = requests.get(f"{world.url}/docs/reference", timeout=60).text
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {operation["operationId"] for _, operation in operations(PUBLISHED)} <= set(ids)
    codes = {f"code-{each['const']}" for each in PUBLISHED["components"]["schemas"]["ErrorCode"]["oneOf"]}
    assert codes <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert f'MALIPO_URL=<span class="text">&#34;{world.url}&#34;' in page


def test_the_page_shows_what_merchants_receive(world: World) -> None:
    page = requests.get(f"{world.url}/docs/reference", timeout=60).text
    shown = html.unescape(re.sub("<[^>]*>", "", page.split('id="received"')[1].split("</section>")[0]))
    assert [event for event in SENT if f'"event": "{event}"' not in shown] == []
    assert [name for name in map(resolved, SENT[TEST_EVENT]["parameters"]) if name["name"] not in shown] == []


def test_every_command_on_the_page_can_be_pasted(world: World) -> None:
    page = requests.get(f"{world.url}/docs/reference", timeout=60).text
    shown = re.findall(r'<figure class="code command"[^>]*>.*?<code>(.*?)</code>', page, re.DOTALL)
    set_up, *commands = (re.sub("<[^>]*>", "", each) for each in shown)
    assert set(re.findall(r"export (\w+)=", set_up)) == {"MALIPO_URL", "MALIPO_API_KEY", "TOKEN"}
    filled = {
        "MALIPO_URL": world.url,
        "MALIPO_API_KEY": world.reader.key,
        "TOKEN": world.log_in("leaver@duka.example"),
    }
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(world.a_worker()):
        for text in commands:
            _paste(Template(html.unescape(text)).substitute(filled))


def _paste(command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "))
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("-X", dest="method")
    options.add_argument("-H", dest="headers", action="append", default=[])
    options.add_argument("-d", dest="body")
    asked = options.parse_args(words[1:])
    headers = dict(line.split(": ", 1) for line in asked.headers)
    method = asked.method or ("POST" if asked.body else "GET")
    answer = requests.request(method, asked.url, headers=headers, data=asked.body, timeout=60)
    # The ids, tokens and passwords of examples are nobody's; the leaver is no owner, and logs out on the way.
    is_about_nobody = any(each in command for each in ("/merchant/", "/callbacks/", "MLP-", "bat_", "/v1/webhooks"))
    expected = {200, 201, 400, 401, 403, 404} if is_about_nobody or "/v1/" not in command else {200, 201}
    assert answer.status_code in expected, f"{command}\n{answer.text}"


def test_the_page_speaks_of_the_address_that_the_reader_came_to(world: World) -> None:
    proxied = {"host": "pay.duka.example", "x-forwarded-proto": "https"}
    page = requests.get(f"{world.url}/docs/reference", headers=proxied, timeout=60).text
    assert 'MALIPO_URL=<span class="text">&#34;https://pay.duka.example&#34;' in page


@pytest.mark.parametrize("host", ['a"><script>', "a b", "é", "x" * 300, ""])
def test_the_page_repeats_no_host_that_is_none(world: World, host: str) -> None:
    answer = requests.get(f"{world.url}/docs/reference", headers={"host": host.encode()}, timeout=60)
    assert f'MALIPO_URL=<span class="text">&#34;{world.url}&#34;' in answer.text


def test_the_collection_for_postman_is_made_from_the_contract_that_is_served(world: World) -> None:
    contract = requests.get(f"{world.url}/openapi.json", timeout=60).json()
    answer = requests.get(f"{world.url}/docs/malipo.postman_collection.json", timeout=60)
    assert answer.json() == postman.at(postman.collection_file(contract), world.url)
