"""The docs say what is true: settings, errors, events, routes, commands and webhooks are held against the code."""

import argparse
import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from itertools import takewhile
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo import __version__, clock
from malipo.api import openapi
from malipo.api.routes import ROUTES, AnyRoute, KeyRoute, PublicRoute, TokenRoute
from malipo.cli import parser
from malipo.db.schema import migrations
from malipo.ledger.statement import WalletLineKind
from malipo.merchants.api_keys import Permission
from malipo.merchants.roles import RIGHTS, Role
from malipo.networks.connector import Channel, FailureCode
from malipo.outbox.event import TEST_EVENT, Event
from malipo.payments import correction_moves
from malipo.payments.dispatch import AnswerSource
from malipo.payments.payment_json import in_event
from malipo.payments.transaction import CorrectionNotice, CorrectionReason, Status, Type
from malipo.settings import Settings
from malipo.settings.environment import read, variable
from malipo.webhooks.disable_endpoint import DISABLE_AFTER
from malipo.webhooks.endpoint import MOST_PER_MERCHANT, OVERLAP
from malipo.webhooks.signature import headers_of, new_secret
from tests.payments.test_transaction import a_transaction

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FIRST_WITH_SPAN = 15  # Migrations before it serve only their own version.
CODE = re.compile(r'(?:code = |code=|"code": |wrong\(\s*[\w".{}]+,\s*|response\(\s*[\w.]+,\s*|: \()f?"([a-z_{}]+)"')


def table(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables of so many columns, without code marks."""
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in (DOCS / page).read_text().splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    return [[cell.replace("`", "") for cell in row] for row in rows if len(row) == columns]


def example_of(row: list[str]) -> str:
    """The example of a setting. A secret that is to be drawn is drawn, the same in every process of the tests."""
    drawn = re.fullmatch(r"\$\(openssl rand -hex ([0-9]+)\)", row[2])
    return hashlib.sha256(row[0].encode()).hexdigest()[: 2 * int(drawn[1])] if drawn else row[2]


def test_every_setting_is_documented_with_its_default_and_an_example_that_works() -> None:
    documented = {row[0]: row for row in table("settings.md", 4) if row[0].startswith("MALIPO_")}
    assert set(documented) == {variable(each.name) for each in fields(Settings)}
    defaults = Settings()
    for row in documented.values():
        name, default, example = row[0], row[1], example_of(row)
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
        if not {"cli", "networks", "worker", "dashboard", "pay_pages"} & set(file.parts) and file.name not in (
            "bookings.py",
            "fees.py",
        ):
            used |= set(CODE.findall(file.read_text()))
    # Meanings that are always narrowed before anybody sees them, or that only operators see, and codes that are made of
    # a field's name.
    used -= {"refused", "conflict", "forbidden", "ambiguous", "operator_unknown", "{name}_invalid"}
    # Only the pages show these.
    used -= {"login_over", "enrolment_invalid", "second_factor_exists", "second_factor_missing"}
    used -= {"second_factor_own", "second_factor_own_first", "approval_required"}
    used -= {"bic_invalid", "account_number_invalid", "holder_name_letters", "on_day_invalid"}
    used -= {"vouching_needs_another_owner", "nothing_to_vouch_for", "rules_need_another_owner", "no_rules_wait"}
    made_of_names = ("channel", "status", "type", "page", "limit", "wait", "kind", "format", "view", "types")
    used |= {f"{name}_invalid" for name in (*made_of_names, "permissions", "environment", "role", "events", "state")}
    assert set(documented) == used


def test_every_event_is_documented_and_no_other() -> None:
    assert _events("events.md") == [*Event]
    assert _events("webhooks.md") == [*Event, TEST_EVENT]


def test_every_reason_of_a_failure_is_documented_and_no_other() -> None:
    """For merchants, and then for their customers."""
    # The other tables begin with a status.
    named = [row[0] for row in table("errors.md", 3) if re.fullmatch("[a-z_]+", row[0]) and row[0] != "status"]
    assert named == [*FailureCode] * 2


def test_every_kind_of_statement_line_is_documented_and_no_other() -> None:
    assert [row[0] for row in table("api.md", 2) if re.fullmatch("[A-Z_]+", row[0])] == list(WalletLineKind)


def test_every_field_and_reason_of_a_correction_is_documented_and_no_other() -> None:
    reported = CorrectionNotice(Status.COMPLETED, 51_000, clock.now(), CorrectionReason.DEBT_RECORDED)
    shown = in_event(replace(a_transaction(Type.DISBURSEMENT, Status.FAILED), correction=reported))["correction"]
    fields_, *_ = (DOCS / "corrections.md").read_text().split("| reason |")
    assert re.findall(r"^\| `(\w+)` \| (?!\+|−)", fields_.split("## The object")[1], re.MULTILINE) == list(shown)
    assert [
        row[0] for row in table("corrections.md", 4) if re.fullmatch("[a-z_]+", row[0]) and row[0] != "reason"
    ] == list(CorrectionReason)


def test_the_worked_examples_of_the_ledger_are_what_is_booked() -> None:
    """What each step leaves in the accounts, as the code books it, from the first row of the example on."""
    payout = replace(a_transaction(Type.DISBURSEMENT, Status.FAILED, fee=1000), amount=50_000)
    result = correction_moves.contradict(
        payout, correction_moves.begin(payout), is_paid=True, source=AnswerSource.QUERY
    )
    taken = correction_moves.decide(payout, result.correction, is_paid=True, available=20_000)
    waived = correction_moves.decide(payout, taken.correction, is_paid=True, available=0, is_waived=True)
    names = ("wallet", "float", "suspense", "fees", "losses", "bank")
    first, *rows = [row for row in table("ledger.md", 9) if row[0] != "step"]
    balances = dict(zip(names, map(_number, first[1:7]), strict=True))
    for change, row in zip((result, taken, waived), rows, strict=True):
        _book(balances, change)
        assert row[0].startswith(f"{change.step} {change.correction.ordinal}:")
        assert [_number(cell) for cell in row[1:8]] == [*balances.values(), change.correction.owed]
        assert (sum(balances.values()), row[8]) == (0, "0")


def test_the_worked_example_of_a_collection_that_was_paid_after_all_is_what_is_booked() -> None:
    collection = replace(a_transaction(Type.COLLECTION, Status.FAILED, fee=100), amount=10_000)
    result = correction_moves.contradict(
        collection, correction_moves.begin(collection), is_paid=True, source=AnswerSource.QUERY
    )
    credited = correction_moves.decide(collection, result.correction, is_paid=True, available=0)
    balances = dict.fromkeys(("wallet", "float", "suspense", "fees"), 0)
    rows = [row for row in table("ledger.md", 6) if re.match("(contradiction|resolution) [0-9]", row[0])]
    for change, row in zip((result, credited), rows, strict=True):
        _book(balances, change)
        assert [_number(cell) for cell in row[1:5]] == [*balances.values()]


def _number(cell: str) -> int:
    return int(cell.replace(",", "").replace("−", "-"))


def _book(balances: dict[str, int], change: correction_moves.CorrectionChange) -> None:
    for move in change.moves:
        balances[move.source] -= move.amount
        balances[move.target] += move.amount


def _events(page: str) -> list[str]:
    return [row[0] for row in table(page, 2) if re.fullmatch(r"[a-z]+\.[a-z]+", row[0])]


# Webhooks


def test_the_times_of_retries_are_those_of_the_settings() -> None:
    delays = [_in_words(seconds) for seconds in Settings().webhook_retry_seconds]
    documented = [row for row in table("webhooks.md", 2) if row[0].isdigit()]
    assert [delay for _, delay in documented[:-1]] == delays
    assert documented[-1][1].startswith("none")
    assert [number for number, _ in documented] == [str(n) for n in range(1, len(delays) + 2)]
    reported = " ".join(openapi.load()["info"]["description"].split())
    assert f"comes again after {', '.join(delays[:-1])} and {delays[-1]}" in reported


def _in_words(seconds: int) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"


def test_the_numbers_in_the_page_of_webhooks_are_those_of_the_code() -> None:
    page = " ".join((DOCS / "webhooks.md").read_text().split())
    settings = Settings()
    words = {5: "five"}
    for reported in (
        f"A merchant has up to {MOST_PER_MERCHANT} endpoints",
        f"Answer any 2xx within {settings.webhook_timeout_seconds} seconds",
        f"failed for {words[DISABLE_AFTER.days]} days",
        f"For {OVERLAP // timedelta(hours=1)} hours malipo signs with both",
        f"kept for {settings.events_keep_days} days",
    ):
        assert reported in page


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
        case KeyRoute():
            return " or ".join(route.permissions)
        case TokenRoute():
            return next(role for role in reversed(Role) if route.right in RIGHTS[role])
        case PublicRoute(path=path):
            return "everybody" if path.startswith("/merchant") else "none"


def test_the_rate_limits_are_those_of_the_settings() -> None:
    documented = {row[3]: row[2] for row in table("rate-limits.md", 4) if row[3].startswith("MALIPO_")}
    limits = {each.name: each.default for each in fields(Settings) if each.name.startswith("rate_limit_")}
    assert documented == {variable(name): str(limit) for name, limit in limits.items()}


def test_every_permission_and_role_is_documented_and_no_other() -> None:
    named = [row[0] for row in table("authentication.md", 2)]
    assert {name for name in named if re.fullmatch(r"[a-z]+\.[a-z]+", name)} == set(Permission)
    assert named[named.index("role") + 1 :] == list(reversed(Role))


def test_every_filter_of_the_list_is_documented_with_its_values() -> None:
    filters = {name: re.findall("[A-Z_]{2,}", values) for name, values in table("pagination.md", 2)}
    assert (filters["status"], filters["type"], filters["channel"]) == (list(Status), list(Type), list(Channel))


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


PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
    *sorted((ROOT / "clients").glob("*/*.md")),
]


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


def test_every_path_of_the_architecture_and_of_what_to_open_exists() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text() + (DOCS / "where.md").read_text()
    named = set(re.findall(r"`([a-z_0-9/-]+(?:\.[a-z]+|/))`", page))
    assert len(named) > 100
    assert sorted(path for path in named if not any((root / path).exists() for root in (ROOT / "malipo", ROOT))) == []


def test_every_file_in_a_flow_of_the_architecture_exists() -> None:
    blocks = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1::2]
    drawn = {path for block in blocks for path in re.findall(r"[\w/]+\.py", block)}
    assert len(drawn) > 20
    assert sorted(path for path in drawn if not (ROOT / "malipo" / path).exists()) == []


def test_every_layer_of_the_architecture_is_that_of_the_linter() -> None:
    drawn: dict[int, list[str]] = {}
    for layer, package in re.findall(r"^\| (\d+) \| `(\w+)` \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE):
        drawn.setdefault(int(layer), []).append(package)
    layers = re.search(r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert layers
    names = [re.findall(r"\w+", line) for line in layers[1].splitlines()]
    assert drawn == dict(enumerate(names, start=1))


def test_every_dependency_has_a_line_that_says_why() -> None:
    reported = (DOCS / "decisions" / "0002-parts.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r'^    "([a-z0-9-]+)",$', project.split("[tool.")[0], re.MULTILINE)
    assert len(named) > 10
    assert [name for name in named if name not in reported] == []


def test_nothing_that_is_made_by_running_is_tracked() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in tracked if name.startswith(("var/", ".venv")) or name.endswith((".pyc", ".log"))]


def test_the_matrix_of_versions_is_that_of_the_migrations() -> None:
    page = (DOCS / "operating" / "upgrading.md").read_text()
    rows: list[list[int]] = []  # from, to, the oldest migration whose version can run on it
    oldest = 0
    for each in migrations():
        oldest = max(oldest, each.serves)
        if each.number < FIRST_WITH_SPAN:
            rows = [[1, each.number, 0]]
        elif rows[-1][2] == oldest:
            rows[-1][1] = each.number
        else:
            rows.append([each.number, each.number, oldest])
    reported = re.findall(
        r"^\| (\d+)(?: to (\d+))? \| (?:only the version|migration (\d+) or later)", page, re.MULTILINE
    )
    assert [[int(first), int(last or first), int(served or 0)] for first, last, served in reported] == rows


def test_this_version_is_in_the_table_of_releases_and_in_the_changelog() -> None:
    assert f"\n| {__version__} | " in (DOCS / "operating" / "upgrading.md").read_text()
    assert f"\n## {__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_the_index_of_the_documentation_has_each_page_for_people() -> None:
    index = (DOCS / "README.md").read_text()
    pages = [*DOCS.glob("*.md"), *(DOCS / "operating").glob("*.md")]
    assert sorted(page.name for page in pages if f"]({page.relative_to(DOCS)})" not in index) == ["README.md"]


def test_the_index_of_decisions_has_each_page_with_its_title() -> None:
    pages = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    titles = {page.name: page.read_text().splitlines()[0].lstrip("# ") for page in pages}
    rows = re.findall(
        r"^\| \[(\d+)\]\(([\w-]+\.md)\) \| (.+) \|$", (DOCS / "decisions/README.md").read_text(), re.MULTILINE
    )
    assert [(name, f"{number}. {title}") for number, name, title in rows] == list(titles.items())
