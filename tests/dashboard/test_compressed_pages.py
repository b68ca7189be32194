"""Pages and files are compressed, except where their length would reveal something to an attacker."""

import gzip
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest

from malipo.dashboard import compressed_pages, static_files
from malipo.dashboard.render import templates
from malipo.http.compression import takes_gzip
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business

OURS = {"Sec-Fetch-Site": "same-origin", "Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
async def line(running: Running) -> AsyncIterator[aiohttp.ClientSession]:
    """Answers as they are sent."""
    async with aiohttp.ClientSession(running.url, auto_decompress=False) as line:
        yield line


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("br, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("br, zstd", False),
        ("gzip;q=many", True),
    ],
)
def test_who_takes_gzip_says_so(asked: str, expected: bool) -> None:
    assert takes_gzip(asked) is expected


# From where a page was asked for, and whether it is compressed. A link on another site leads to a page too, and a page
# of another site makes a browser open one: neither learns anything from its length.
SITES = {"same-origin": True, "none": True, "same-site": False, "cross-site": False, None: False, "": False}


@pytest.mark.parametrize("site", SITES)
async def test_a_page_is_compressed_for_our_own_pages_and_for_the_reader(
    line: aiohttp.ClientSession, site: str | None
) -> None:
    headers = {"Accept-Encoding": "gzip"} | ({} if site is None else {"Sec-Fetch-Site": site})
    async with line.get("/dashboard/login", headers=headers) as answer:
        body = await answer.read()
        assert (answer.headers.get("Content-Encoding") == "gzip") is SITES[site]
        assert "Accept-Encoding" in answer.headers["Vary"]
        assert int(answer.headers["Content-Length"]) == len(body)
    plain = gzip.decompress(body) if SITES[site] else body
    assert b"</html>" in plain


@pytest.mark.parametrize("headers", [{}, {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip;q=0"}])
async def test_who_does_not_take_gzip_gets_none(line: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    for path in ("/dashboard/login", "/dashboard/static/site.css"):
        async with line.get(
            path, headers=OURS | {"Accept-Encoding": ""} | headers, skip_auto_headers=["Accept-Encoding"]
        ) as answer:
            await answer.read()
            assert "Content-Encoding" not in answer.headers


async def test_an_error_page_is_compressed_too_and_a_redirect_is_sent(line: aiohttp.ClientSession) -> None:
    async with line.get("/dashboard/nothing", headers=OURS) as answer:
        assert (answer.status, answer.headers["Content-Encoding"]) == (404, "gzip")
        assert b"</html>" in gzip.decompress(await answer.read())
    async with line.get("/dashboard", headers=OURS, allow_redirects=False) as answer:
        assert (answer.status, await answer.read()) == (303, b"")


async def test_a_page_that_shows_a_secret_is_not_compressed(business: Business, line: aiohttp.ClientSession) -> None:
    surfer = business.surfer
    await surfer.log_in(business.owner.email)
    fields = [("name", "Till"), ("permissions", "payments.read"), ("environment", "live")]
    made = await surfer.post("/dashboard/keys", fields, headers=OURS)
    shown = await surfer.get("/dashboard/keys", headers=OURS)
    assert (made.status, shown.status) == (201, 200)
    assert "Content-Encoding" not in made.headers
    assert made.headers["Cache-Control"] == "no-store, no-transform"
    assert shown.headers["Content-Encoding"] == "gzip"


def test_every_template_that_shows_a_secret_is_named() -> None:
    loader = templates().loader
    assert loader is not None
    sources = {name: loader.get_source(templates(), name)[0] for name in templates().list_templates()}
    showing = {name for name, text in sources.items() if "ui.shown_once(" in text or "ui.secret(" in text}
    assert showing | {"second_factor/enrol.html", "second_factor/recovery_codes.html"} == set(
        compressed_pages.SHOW_SECRETS
    )


# Files


async def test_a_file_is_kept_for_ever_by_its_fingerprint_and_by_no_other(line: aiohttp.ClientSession) -> None:
    url = static_files.url("site.css")
    kept = {
        url: "public, max-age=31536000, immutable",
        url[:-1] + ("0" if url[-1] != "0" else "1"): "no-cache",  # of another version, while the service is upgraded
        url.partition("?")[0]: "max-age=300",
    }
    bodies = set()
    for each, expected in kept.items():
        async with line.get(each, headers={"Accept-Encoding": "gzip"}) as answer:
            assert answer.headers["Cache-Control"] == expected
            assert answer.headers["Vary"] == "Accept-Encoding"
            bodies.add(gzip.decompress(await answer.read()))
    assert len(bodies) == 1


def test_a_file_names_others_by_their_fingerprints() -> None:
    """Else a browser keeps a script that imports one of yesterday."""
    seen = set()
    for name in sorted(static_files.files().names):
        found = static_files.files().find(name)
        assert found is not None
        for other in re.findall(rb'"(?:\./)?([a-z]+\.(?:js|css|svg)[^"]*)"', found.content):
            assert static_files.url(other.decode().partition("?")[0]) == f"{static_files.PATH}/{other.decode()}", name
            seen.add(other.partition(b"?")[0])
    assert seen >= {b"swap.js", b"live.js", b"search.js", b"chart.js", b"icon.svg", b"chevron.svg"}


async def test_names_of_files_that_there_are_not_lead_nowhere(line: aiohttp.ClientSession) -> None:
    for name in ("nothing.css", "chart", "site.py", "site.css.map"):
        async with line.get(f"/dashboard/static/{name}") as answer:
            assert answer.status == 404
