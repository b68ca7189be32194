"""The contract as it is served to read: the reference."""

import html
import re
from string import Template

import pytest
import requests
from anyio.from_thread import start_blocking_portal

from malipo.api import openapi as contracts
from malipo.api.docs import postman
from malipo.outbox.event import TEST_EVENT
from tests.api.contract_world import World
from tests.api.contract_world import world as world
from tests.api.docs.curl_commands import of_command
from tests.api.published_contract import PUBLISHED, SENT, operations, resolved


def test_the_contract_has_the_largest_amount_of_this_installation() -> None:
    contract = contracts.load(max_amount=3_000_000)
    assert contract["components"]["schemas"]["Amount"]["maximum"] == 3_000_000


def page_of(world: World, name: str = "") -> str:
    return requests.get(f"{world.url}/docs/reference{name and f'/{name}'}", timeout=60).text


def test_every_route_has_a_page_with_its_fields_and_the_errors_that_it_can_give(world: World) -> None:
    listed = page_of(world)
    for path, operation in operations(PUBLISHED):
        name = operation["operationId"]
        # Each was a part of one page once: links from then lead to the list, and from there to its page.
        assert f'<li id="{name}"><a href="/docs/reference/{name}">' in listed
        shown = html.unescape(re.sub("<[^>]*>", "", page_of(world, name)))
        assert operation["summary"] in shown
        parameters = [resolved(each)["name"] for each in operation.get("parameters", [])]
        answers = [resolved(answer) for answer in operation["responses"].values()]
        reported = [each["headers"].get("X-Error-Code", {}).get("schema", {}).get("enum", []) for each in answers]
        codes = [code for each in reported for code in each]
        assert [each for each in (path.split(" ")[0], *parameters, *codes) if each not in shown] == [], name


def test_the_page_of_error_codes_has_each_and_says_who_answers_with_it(world: World) -> None:
    page = page_of(world, "error-codes")
    rows = dict(re.findall(r'<tr id="code-(\w+)">(.*?)</tr>', page, re.DOTALL))
    assert set(rows) == {each["const"] for each in PUBLISHED["components"]["schemas"]["ErrorCode"]["oneOf"]}
    assert re.findall(r'/docs/reference/(\w+)"', rows["refund_in_progress"]) == ["refund"]
    assert "<a" not in rows["rate_limited"], "every route can answer with it"


def test_the_list_is_complete_and_old_links_lead_somewhere(world: World) -> None:
    page = page_of(world)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {"received", "error-codes", "guide", "batches", "log-in", "webhook-endpoints-by-api-key"} <= set(ids)
    assert f'MALIPO_URL=<span class="text">&#34;{world.url}&#34;' in page
    assert requests.get(f"{world.url}/docs/reference/nothing", timeout=60).status_code == 404


def test_a_page_shows_what_merchants_receive(world: World) -> None:
    shown = html.unescape(re.sub("<[^>]*>", "", page_of(world, "received")))
    assert [event for event in SENT if f'"event": "{event}"' not in shown] == []
    assert [name for name in map(resolved, SENT[TEST_EVENT]["parameters"]) if name["name"] not in shown] == []


def test_every_command_of_the_reference_can_be_pasted(world: World) -> None:
    names = ["", *(operation["operationId"] for _, operation in operations(PUBLISHED))]
    shown = [
        command
        for name in names
        for command in re.findall(
            r'<figure class="code command"[^>]*>.*?<code>(.*?)</code>', page_of(world, name), re.DOTALL
        )
    ]
    set_up, *commands = (html.unescape(re.sub("<[^>]*>", "", each)) for each in shown)
    assert len(commands) >= len(names) - 1
    assert set(re.findall(r"export (\w+)=", set_up)) == {"MALIPO_URL", "MALIPO_API_KEY", "TOKEN"}
    filled = {"MALIPO_API_KEY": world.reader.key, "TOKEN": world.log_in("leaver@duka.example")}
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(world.a_worker()):
        for text in commands:
            _paste(world.url, text, filled)


def _paste(url: str, command: str, filled: dict[str, str]) -> None:
    asked = of_command(command)
    headers = {name: Template(value).substitute(filled) for name, value in asked.headers.items()}
    answer = requests.request(
        asked.method, url + asked.path, params=asked.query, headers=headers, json=asked.body, timeout=60
    )
    # The ids, tokens and passwords of examples are nobody's; the leaver is no owner, and logs out on the way.
    is_about_nobody = any(
        each in command for each in ("/merchant/", "/callbacks/", "MLP-", "bat_", "lnk_", "stl_", "/v1/webhooks")
    )
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
