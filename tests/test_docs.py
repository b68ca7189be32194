"""The docs say what is true: settings, errors, events, routes, commands and webhooks are held against the code."""

import argparse
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from itertools import takewhile
from pathlib import Path

import pytest

from malipo import clock
from malipo.api import contract
from malipo.api.routes import ROUTES, AnyRoute, ByKey, ByToken, Open
from malipo.cli import parser
from malipo.merchants.people import RIGHTS, Role
from malipo.outbox.event import TEST_EVENT, Event
from malipo.payments.effects import EVENTS
from malipo.settings import Settings, read, variable
from malipo.webhooks.endpoint import MOST_PER_MERCHANT, OVERLAP
from malipo.webhooks.schedule import GIVE_UP_AFTER
from malipo.webhooks.signature import headers_of, new_secret

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CODE = re.compile(r'(?:code = |code=|"code": |wrong\(\s*[\w".{}]+,\s*|response\(\s*[\w.]+,\s*|: \()f?"([a-z_{}]+)"')


def table(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables of so many columns, without code marks."""
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in (DOCS / page).read_text().splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    return [[cell.replace("`", "") for cell in row] for row in rows if len(row) == columns]


def test_every_setting_is_documented_with_its_default_and_an_example_that_works() -> None:
    documented = {row[0]: row for row in table("settings.md", 4) if row[0].startswith("MALIPO_")}
    assert set(documented) == {variable(each.name) for each in fields(Settings)}
    defaults = Settings()
    for name, default, example, _ in documented.values():
        field = name.removeprefix("MALIPO_").lower()
        assert getattr(read({name: example}), field) != getattr(defaults, field), f"the example of {name}"
        if default != "none":
            assert getattr(read({name: default}), field) == getattr(defaults, field), f"the default of {name}"
        else:
            assert not getattr(defaults, field)


def test_every_error_code_in_the_code_is_documented_and_no_other() -> None:
    documented = [row[1] for row in table("errors.md", 3) if row[0].isdigit()]
    assert len(documented) == len(set(documented))
    used = set()
    for file in (ROOT / "malipo").rglob("*.py"):
        # Not what an operator reads, nor the networks' own codes.
        if not {"cli", "networks", "worker", "dashboard"} & set(file.parts) and file.name not in ("book.py", "fees.py"):
            used |= set(CODE.findall(file.read_text()))
    # Meanings that are always narrowed before anybody sees them, or that only operators see, and codes that are made of
    # a field's name.
    used -= {"refused", "conflict", "forbidden", "ambiguous", "operator_unknown", "{name}_invalid"}
    made_of_names = ("channel", "status", "type", "page", "limit", "wait", "kind", "format")
    used |= {f"{name}_invalid" for name in (*made_of_names, "permissions", "environment", "role", "events", "state")}
    assert set(documented) == used


def test_every_event_is_documented_and_no_other() -> None:
    assert set(_events("api.md")) == set(EVENTS.values())
    assert _events("webhooks.md") == [*Event, TEST_EVENT]


def _events(page: str) -> list[str]:
    return [row[0] for row in table(page, 2) if re.fullmatch(r"[a-z]+\.[a-z]+", row[0])]


# Webhooks


def test_the_times_of_retries_are_those_of_the_settings() -> None:
    delays = [_in_words(seconds) for seconds in Settings().webhook_retry_seconds]
    documented = [row for row in table("webhooks.md", 2) if row[0].isdigit()]
    assert [delay for _, delay in documented[:-1]] == delays
    assert documented[-1][1].startswith("none")
    assert [number for number, _ in documented] == [str(n) for n in range(1, len(delays) + 2)]
    told = " ".join(contract.load()["info"]["description"].split())
    assert f"comes again after {', '.join(delays[:-1])} and {delays[-1]}" in told


def _in_words(seconds: int) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"


def test_the_numbers_in_the_page_of_webhooks_are_those_of_the_code() -> None:
    page = " ".join((DOCS / "webhooks.md").read_text().split())
    settings = Settings()
    words = {5: "five"}
    for told in (
        f"A merchant has up to {MOST_PER_MERCHANT} endpoints",
        f"Answer any 2xx within {settings.webhook_timeout_seconds} seconds",
        f"failed for {words[GIVE_UP_AFTER.days]} days",
        f"For {OVERLAP // timedelta(hours=1)} hours malipo signs with both",
        f"kept for {settings.events_keep_days} days",
    ):
        assert told in page


def test_the_headers_of_a_webhook_are_documented_and_no_other() -> None:
    documented = [row[0] for row in table("webhooks.md", 2) if re.match(r"(X-|webhook-)", row[0])]
    assert sorted(documented) == sorted(set(_headers(keys=2)) - {"Content-Type"})
    example = (DOCS / "webhooks.md").read_text().split("```http\n")[1].split("\n\n")[0]
    assert [line.split(": ")[0] for line in example.splitlines()[1:]] == list(_headers(keys=1))


def _headers(*, keys: int) -> dict[str, str]:
    return headers_of(
        word=Settings().header_word,
        event=Event.PAYMENT_COMPLETED,
        event_id="evt_1",
        attempt_id="att_1",
        body=b"{}",
        keys=[new_secret() for _ in range(keys)],
        now=clock.now(),
    )


# Routes and commands


def test_every_route_is_documented_with_its_permission_or_role_and_no_other() -> None:
    documented = {row[0]: row[1] for row in table("api.md", 3) if re.match("[A-Z]+ /", row[0])}
    assert documented == {f"{route.method} {route.path}": _needed_for(route) for route in ROUTES}


def _needed_for(route: AnyRoute) -> str:
    match route:
        case ByKey():
            return route.permission
        case ByToken():
            return next(role for role in reversed(Role) if route.right in RIGHTS[role])
        case Open(path=path):
            return "everybody" if path.startswith("/merchant") else "none"


def test_every_command_is_documented_and_no_other() -> None:
    documented = {
        " ".join(takewhile(lambda word: re.fullmatch("[a-z][a-z-]*", word), row[0].split()[1:]))
        for row in table("cli.md", 2)
        if row[0].startswith("malipo ")
    }
    assert documented == set(_commands(parser()))


def _commands(parser_: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    below = [action for action in parser_._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name
    for action in below:
        for word, each in action.choices.items():
            yield from _commands(each, f"{name} {word}".strip())


PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" in target:
            continue
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not place or place in _places(path), f"{target}#{place}"


def _places(page: Path) -> list[str]:
    """What can be pointed at inside a page: its headings, named as GitHub does."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_every_dependency_has_a_line_that_says_why() -> None:
    told = (DOCS / "decisions" / "0002-parts.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r'^    "([a-z0-9-]+)",$', project.split("[tool.")[0], re.MULTILINE)
    assert len(named) > 10
    assert [name for name in named if name not in told] == []


def test_nothing_that_is_made_by_running_is_tracked() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in tracked if name.startswith(("var/", ".venv")) or name.endswith((".pyc", ".log"))]
