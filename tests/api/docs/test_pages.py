"""The documentation as the service shows it: every page is there, no link is dead, nothing comes from elsewhere."""

import asyncio
import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from babel.messages.pofile import read_po

from malipo import dashboard
from malipo.api import openapi
from malipo.api.docs import content, downloads, guides, pages
from malipo.api.docs.pages import DocsInstallation
from malipo.rate_limit.sliding_window import RateClass
from tests.api.docs.samples import DOCS
from tests.conftest import NO_LIMITS, create_database, free_port, starting, until_ready

# Of the pages of the reference, which are many and made by one template, some; all are in test_reference.py.
REFERENCE = ("", "/collect", "/listBatchItems", "/createApiKey", "/received", "/error-codes")
SITE = (*(f"/docs/reference{each}" for each in REFERENCE), *(page.address for page in pages.by_name().values()))

# Where the pages of the demo say that the phones are.
PHONES = f"127.0.0.1:{free_port()}"
DEMO = {"simulated": "true", "docs_try_it": "true", "simulator_port": PHONES.split(":")[1]}


class Services(NamedTuple):
    """One with simulated networks, where requests may be tried, and one as it is by default."""

    demo: str
    real: str


@pytest.fixture(scope="module")
def services(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    database_url = asyncio.run(create_database(postgres, template))
    with starting(tmp_path_factory.mktemp("docs")) as start:
        started = [
            start("api", database_url=database_url, **DEMO, **NO_LIMITS),
            start("api", database_url=database_url, **NO_LIMITS),
        ]
        for each in started:
            asyncio.run(until_ready(each))
        yield Services(*(each.url for each in started))


@cache
def get(url: str) -> requests.Response:
    return requests.get(url, timeout=30, allow_redirects=False)


@pytest.mark.parametrize("path", [*SITE, "/docs/try"])
def test_a_page_is_there_and_asks_no_other_host_for_anything(services: Services, path: str) -> None:
    answer = get(services.demo + path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'")
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]* src=)|javascript:|\son\w+=|\sstyle=", answer.text)
    assert {urlsplit(each).netloc for each in re.findall(r' src="([^"]+)"', answer.text)} <= {""}
    assert pages.EXAMPLE_URL not in answer.text, "it speaks of the address that the reader came to"
    assert "<!--" not in answer.text
    assert "{{" not in answer.text
    ids = re.findall(r' id="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids))


def test_no_style_asks_for_anything(services: Services) -> None:
    for name in ("docs.css", "static/site.css"):
        style = get(f"{services.demo}/docs/{name}")
        assert style.headers["content-type"].startswith("text/css")
        assert not re.search(r"url\(|@import", style.text)


def test_no_link_of_any_page_is_dead(services: Services) -> None:
    dead = []
    for path in (*SITE, "/docs/try"):
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', get(services.demo + path).text)):
            target = urlsplit(urljoin(path, html.unescape(link).removeprefix(services.demo)))
            if target.netloc or target.scheme:
                assert target.netloc in ("www.standardwebhooks.com", "github.com", PHONES), link
                continue
            answer = get(f"{services.demo}{target.path}" + (f"?{target.query}" if target.query else ""))
            is_there = not target.fragment or f' id="{target.fragment}"' in answer.text or target.path == "/docs/try"
            if answer.status_code != 200 or not is_there:
                dead.append(f"{path}: {link}")
    assert dead == []


def test_what_is_for_operators_is_neither_served_nor_linked(services: Services) -> None:
    for page in pages.by_name().values():
        shown = get(services.demo + page.address).text
        for heading in re.findall(r"<!-- for operators -->\n#+ (.+)", (DOCS / page.file).read_text()):
            assert f">{heading}<" not in shown
    # A mark before a paragraph leaves out that paragraph, and no more.
    webhooks = get(services.demo + "/docs/webhooks").text
    assert "MALIPO_HEADER_WORD" in (DOCS / "webhooks.md").read_text()
    assert "That word is" not in webhooks
    assert "Verify the signature" in webhooks.split("another word in the place of")[1]
    assert "SSRF" not in get(services.demo + "/docs/webhooks").text
    for name in ("settings", "backups", "quickstart", "operating/runbook", "decisions/0002-parts", "CHANGELOG"):
        assert get(f"{services.demo}/docs/{name}").status_code == 404


# What only who runs the service knows: settings, commands, processes, the database, and why malipo is made as it is.
OF_OPERATORS = re.compile(
    r"\bMALIPO_(?!URL\b|API_KEY\b)[A-Z_]+|\b[Mm]igrations?\b|\b[Dd]ecisions?(?:/| records?\b| \d)|\bSQL\b|PostgreSQL"
    r"|\bworkers?\b|\bdatabase's schema\b|systemd|/(?:healthz|readyz|metrics|operator)\b|Prometheus|Grafana"
    r"|\b[Rr]unbook\b|\./test\b|--stdin\b|trusted prox|\bfence"
    r"|\bmalipo (?:operators|merchant|key|payments|statements|restore|doctor|approvals|floats|ledger|close|tariff)\b"
)


def test_no_page_has_words_that_only_operators_know() -> None:
    found = []
    for name, page in every_page().items():
        shown = html.unescape(re.sub(r"<[^>]+>", "", page))
        found += [
            f"{name}: {' '.join(shown[max(at.start() - 40, 0) : at.end() + 40].split())}"
            for at in OF_OPERATORS.finditer(shown)
        ]
        # A link to what is not served: words that lead nowhere.
        found += [f"{name}: {each}" for each in re.findall(r'class="elsewhere">(.*?)</span>', page)]
    assert found == []


def every_page() -> dict[str, str]:
    """As both kinds of services show them: what only one shows is read too."""
    found: dict[str, str | None] = {}
    for is_simulated in (True, False):
        installation = DocsInstallation(is_simulated=is_simulated, may_try=is_simulated)
        limits = tuple((each, 100) for each in RateClass)
        reference = ["", *content._reference(10_000_000, limits).names]
        found |= {f"{name} {is_simulated}": content.guide(name, installation) for name in pages.by_name()}
        found |= {
            f"reference/{name} {is_simulated}": content.show_reference(name, 10_000_000, limits, installation)
            for name in reference
        }
    return {name: page for name, page in found.items() if page is not None}


def test_what_changes_for_merchants_is_served_for_each_release_and_not_the_changelog(services: Services) -> None:
    page = get(f"{services.demo}/docs/changelog").text
    releases = re.findall(r"^## (\d+\.\d+\.\d+ \(.+\))$", (DOCS.parent / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert re.findall(r"<h2 id=[^>]*>([^<]+)", page) == ["Unreleased", *releases]
    assert "Money and safety" not in page
    # What programs of merchants must know: everything that the contract has got since its last release.
    reported = (DOCS.parent / "CHANGELOG-MERCHANTS.md").read_text().split("\n## ")[1]
    assert [each for each in grown() if each not in reported] == []


def grown() -> list[str]:
    """Events, permissions and routes that the contract has, and that of the last release has not."""
    now, before = openapi.load(), max((DOCS.parent / "tests" / "contract").glob("released-*.json"), key=version_of)
    then = json.loads(before.read_text())

    def names(contract: dict[str, Any]) -> set[str]:
        schemas = contract["components"]["schemas"]
        values = {value for name in ("Event", "Permission") for value in schemas[name].get("enum", ())}
        values |= {each["const"] for name in ("Event", "Permission") for each in schemas[name].get("oneOf", ())}
        return values | {
            f"{method.upper()} {path}" for path, methods in contract["paths"].items() for method in methods
        }

    return sorted(names(now) - names(then))


def version_of(file: Path) -> tuple[int, ...]:
    return tuple(map(int, file.stem.removeprefix("released-").split(".")))


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nothing",
        "/docs/images/dashboard.png",
        "/docs/images/..%2f..%2fREADME.md",
        "/docs/static/nothing.css",
        "/docs/static/..%2fpages.yaml",
        "/docs/static/pages.yaml",
        "/docs/downloads/pyproject.toml",
        "/docs/downloads/..%2f..%2fLICENSE",
        "/docs/",
    ],
)
def test_what_is_not_a_page_is_not_found(services: Services, path: str) -> None:
    assert get(services.demo + path).status_code in (400, 404)


def test_nothing_is_kept_of_names_that_are_none() -> None:
    """Else anybody could fill the memory with them."""
    kept = (content._guide, content.images, downloads._kept)
    before = [each.cache_info().currsize for each in kept]
    files = len(content.static()._made)
    for number in range(50):
        assert content.guide(f"nothing-{number}", DocsInstallation(is_simulated=False, may_try=False)) is None
        assert content.static().find(f"nothing-{number}.css") is None
        assert content.download(f"nothing-{number}") is None
    assert [each.cache_info().currsize for each in kept] == before
    assert len(content.static()._made) == files


# What goes over the line


@pytest.mark.parametrize("path", [*SITE, "/docs/search.json", "/docs/docs.css"])
def test_whoever_takes_it_gets_it_compressed_and_once(services: Services, path: str) -> None:
    """The pages are the same for everybody: their lengths tell nothing, whoever has led to them."""
    asked = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "cross-site"}
    first = requests.get(services.demo + path, headers=asked, timeout=30)
    assert (first.headers["Content-Encoding"], first.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(first.headers["Content-Length"]) < len(first.content) / 2
    plain = requests.get(services.demo + path, headers={"Accept-Encoding": "identity"}, timeout=30)
    assert ("Content-Encoding" in plain.headers, plain.content) == (False, first.content)
    for known in (first.headers["ETag"], plain.headers["ETag"].removeprefix("W/"), f'"other", {first.headers["ETag"]}'):
        again = requests.get(services.demo + path, headers=asked | {"If-None-Match": known}, timeout=30)
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    for unknown in ('"other"', "*", ""):
        answer = requests.get(services.demo + path, headers=asked | {"If-None-Match": unknown}, timeout=30)
        assert (answer.status_code, answer.content) == (200, first.content)


def test_a_page_with_another_address_is_another_content(services: Services) -> None:
    here = get(f"{services.demo}/docs").headers["ETag"]
    elsewhere = {"If-None-Match": here, "Host": "pay.duka.example"}
    answer = requests.get(f"{services.demo}/docs", headers=elsewhere, timeout=30)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    assert answer.headers["ETag"] != here


def test_what_is_no_page_is_never_the_same_as_before(services: Services) -> None:
    browser = {"Accept": "text/html"}
    lost = requests.get(f"{services.demo}/nothing", headers=browser, timeout=30)
    again = requests.get(
        f"{services.demo}/nothing", headers=browser | {"If-None-Match": lost.headers["ETag"]}, timeout=30
    )
    assert (lost.status_code, again.status_code) == (404, 404)


def test_styles_and_scripts_are_kept_for_ever_by_their_fingerprints(services: Services) -> None:
    named = set(
        re.findall(
            r'"(/docs/static/[^"]+)"', "".join(get(services.demo + path).text for path in ("/docs", "/docs/try"))
        )
    )
    assert {each.partition("?")[0].rpartition("/")[2] for each in named} == {"site.css", "docs.js", "try.js"}
    for script in ("docs.js", "search_box.js"):
        code = get(f"{services.demo}/docs/static/{script}").text
        named |= {f"/docs/static/{each}" for each in re.findall(r'from "\./([^"]+)"', code)}
    assert len(named) == 5
    for each in named:
        assert get(services.demo + each).headers["Cache-Control"] == "public, max-age=31536000, immutable", each
        assert get(services.demo + each + "0").headers["Cache-Control"] == "no-cache"


def test_only_simulated_networks_are_called_simulated(services: Services) -> None:
    for path in ("/docs", "/docs/reference", "/dashboard/login", "/operator/login"):
        assert "Simulated networks: no real money moves here." in get(services.demo + path).text
        assert "Simulated networks: no real" not in get(services.real + path).text.replace("<em>", "")
    assert "Mitandao ya majaribio: hakuna pesa halisi" in get(services.demo + "/docs/sw/duka").text


def test_only_a_simulated_service_says_where_its_phones_are(services: Services) -> None:
    trying, simulator = (get(f"{services.demo}/docs/{name}").text for name in ("trying", "simulator"))
    first = trying.split("</h1>")[1].split("</p>")[0]
    assert "This service has simulated networks: no real money moves here." in first
    assert f'<a href="http://{PHONES}">http://{PHONES}</a>' in first
    assert simulator.split("</h1>")[1].split("</p>")[0].count(PHONES) == 2
    assert f"export SIMULATOR_URL=http://{PHONES}" in re.sub("<[^>]+>", "", simulator)
    assert pages.EXAMPLE_SIMULATOR_URL not in trying + simulator
    for name in ("trying", "simulator"):
        real = get(f"{services.real}/docs/{name}").text
        assert not re.search("This service has simulated networks|simulator of this service|if simulated", real)


@pytest.mark.parametrize(
    ("host", "phones"), [("pay.duka.example", "pay.duka.example"), ("[::1]:8080", "[::1]"), ("a b", "127.0.0.1")]
)
def test_the_phones_are_on_the_host_that_the_reader_came_to(services: Services, host: str, phones: str) -> None:
    page = requests.get(f"{services.demo}/docs/trying", headers={"host": host}, timeout=60).text
    assert f'"http://{phones}:{PHONES.split(":")[1]}"' in page


def test_requests_are_tried_only_where_the_operator_allows_it(services: Services) -> None:
    assert get(f"{services.real}/docs/try").status_code == 404
    pages_ = get(f"{services.real}/docs").text + get(f"{services.real}/docs/reference").text
    assert not re.search('/docs/try["#]', pages_)
    page = get(f"{services.demo}/docs/try").text
    assert 'value="collect" data-method="POST" data-path="/v1/payments"' in page
    assert "/merchant/" not in page, "only what an API key opens"


def test_the_page_speaks_of_the_address_that_the_reader_came_to(services: Services) -> None:
    proxied = {"host": "pay.duka.example", "x-forwarded-proto": "https"}
    page = requests.get(f"{services.real}/docs", headers=proxied, timeout=60).text
    assert "MALIPO_URL=https://pay.duka.example\n" in page


def test_samples_in_several_languages_are_one_block(services: Services) -> None:
    page = get(f"{services.demo}/docs").text
    assert page.count('<div class="tabs">') == (DOCS / "guides" / "start.md").read_text().count("<!-- tabs -->")
    first = page.split('<div class="tabs">')[1].split("</div>")[0]
    assert re.findall(r'data-language="(\w+)"', first) == list(guides.LANGUAGES)


def test_the_page_for_shop_owners_uses_the_words_of_the_dashboard() -> None:
    with (Path(dashboard.__file__).parent / "locale" / "sw.po").open("rb") as file:
        said = [str(message.string) for message in read_po(file)]
    named = set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", (DOCS / "sw" / "duka.md").read_text()))
    assert len(named) > 8
    assert {each for each in named if not any(words.lower().startswith(each.lower()) for words in said)} <= {
        "Kiswahili",  # in its own language on every page
        "yaliyokamilika",
    }


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/", 200, "Mobile-money payments in Tanzania"),
        ("/nothing", 404, "There is no page at this address"),
        ("/docs/nothing", 404, "There is no page at this address"),
        ("/docs/static/nothing.css", 404, "There is no page at this address"),
    ],
)
def test_a_browser_gets_a_page_where_there_is_none(services: Services, path: str, status: int, words: str) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = requests.get(services.demo + path, headers=browser, timeout=30)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert f"{words}<" in answer.text or f"{words}." in answer.text
    assert answer.headers.get("X-Error-Code") == (None if status == 200 else "not_found")
    assert {"/docs", "/dashboard"} <= set(re.findall(r'href="([^"]+)"', answer.text))


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/docs/nothing", "/v1/nothing", "/merchant/nothing", "/callbacks/x/y"]
)
def test_a_program_gets_json_where_there_is_nothing(services: Services, path: str) -> None:
    for_programs = path.startswith(("/v1", "/merchant", "/callbacks"))
    accepted = ["*/*", "application/json", *(["text/html"] if for_programs else [])]
    for accept in accepted:
        answer = requests.get(services.demo + path, headers={"Accept": accept}, timeout=30)
        assert answer.headers["content-type"] == "application/json", accept
        assert "error" in answer.json()
