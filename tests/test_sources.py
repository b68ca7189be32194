"""Time and chance come from one place each, so that the simulation can give both."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Only these wait for real time, beside an operating system's process or a person.
REAL_TIME = {
    "malipo/clock.py",
    "malipo/db/embedded/shared_server.py",
    "malipo/db/embedded/supervisor.py",
    "malipo_simulator/server.py",
}
RANDOM = {"malipo/randomness.py", "malipo_simulator/randomness.py", "malipo_simulator/control.py"}


def _users_of(pattern: str) -> set[str]:
    found = set()
    for package in ("malipo", "malipo_simulator"):
        for path in (ROOT / package).rglob("*.py"):
            if re.search(pattern, path.read_text(), flags=re.MULTILINE):
                found.add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"\btime\.(time|time_ns|monotonic|perf_counter|monotonic_ns|perf_counter_ns)\b", REAL_TIME),
        (r"loop(\(\))?\.time\b", {"malipo/clock.py", "malipo_simulator/callback_client.py"}),
        (r"\bdatetime\.(now|utcnow|today)\(", set()),
        (r"^import random$|^from random |\bsecrets\.(token|choice|randbelow)|\bos\.urandom|\buuid\b", RANDOM),
        (r"\bsecrets\.compare_digest", {"malipo_simulator/gateways/mpesa.py", "malipo_simulator/gateways/halopesa.py"}),
    ],
)
def test_only_these_files_read_a_clock_or_draw_random_numbers(pattern: str, allowed: set[str]) -> None:
    assert _users_of(pattern) == allowed


@pytest.mark.parametrize("act", [r"clock\.read_from\(", r"randomness\.draw_from\("])
def test_nothing_in_the_service_puts_another_source_in_place(act: str) -> None:
    assert _users_of(act) == set()


def test_one_place_names_the_business_time_zone() -> None:
    assert _users_of(r"Africa/Dar_es_Salaam") == {"malipo/clock.py", "malipo_simulator/statements/account.py"}


CLOCKS = {"clock.now", "clock.monotonic", "clock.loop_time", "loop_time"}
SQL = re.compile(r"\b(SELECT\s.*\bFROM\b|INSERT INTO \w|UPDATE \w+( \w+)? SET\b|DELETE FROM \w)", re.DOTALL)
# Files whose subject is one query, or a family of them. All other SQL is in stores and in `db`.
QUERIES = {
    "malipo/rollups/check.py",
    "malipo/ledger/check.py",
    "malipo/approvals/booking_history.py",
    "malipo/ledger/check_wallets_in_pieces.py",
    "malipo/ledger/check_settlements.py",
    "malipo/outbox/daily_totals.py",
    "malipo/outbox/feed.py",
    "malipo/outbox/feed_numbers.py",
    *(f"malipo/payments/check/{name}.py" for name in ("check_in_pieces", "corrections", "rollups", "expected")),
    *(f"malipo/payments/check/{name}.py" for name in ("fingerprints", "newer_rows", "refunds", "transactions")),
    "malipo/payments/rollups/backlog.py",
    *(f"malipo/payments/listing/{name}.py" for name in ("by_reference", "filters", "keyset_pagination")),
    *(
        f"malipo/payments/listing/{name}.py"
        for name in ("late_payouts", "offset_pagination", "sums", "transaction_list")
    ),
    "malipo/payments/search/index.py",
    "malipo/payments/search/query.py",
}


def _modules(containing: str) -> Iterator[tuple[str, ast.Module]]:
    """Those whose text has something like this: to parse all takes three seconds of a processor."""
    for path in sorted((ROOT / "malipo").rglob("*.py")):
        if re.search(containing, text := path.read_text()):
            yield str(path.relative_to(ROOT)), ast.parse(text)


def _texts(module: ast.Module) -> Iterator[str]:
    yield from _texts_of(ast.walk(module))


def _texts_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)


def _is_store(path: str) -> bool:
    return "/store/" in path or path.endswith(("/store.py", "_store.py")) or path.startswith("malipo/db/")


def test_only_stores_and_files_of_queries_contain_sql() -> None:
    found = {path for path, module in _modules("SELECT|INSERT|UPDATE|DELETE") if any(map(SQL.search, _texts(module)))}
    assert {path for path in found if not _is_store(path)} == QUERIES


def test_no_assertion_acts_or_counts_what_a_statement_wrote() -> None:
    """Python can leave assertions out: what guards money is `ensure` of `errors.py`."""
    wrong = []
    for path, module in _modules(r"assert .*(await|INSERT 0|UPDATE |DELETE )"):
        for node in ast.walk(module):
            if isinstance(node, ast.Assert):
                parts = list(ast.walk(node.test))
                acts = any(isinstance(each, ast.Await) for each in parts)
                if acts or any(text.startswith(("INSERT 0", "UPDATE ", "DELETE ")) for text in _texts_of(parts)):
                    wrong.append(f"{path}: {ast.unparse(node)}")
    assert wrong == []


def test_a_module_that_says_pure_reads_no_database() -> None:
    """It may use the structs and the constants of a store, but none of its functions."""
    wrong, pure = [], 0
    for path, module in _modules(r"\bPure\."):
        if not re.search(r"\bPure\.", ast.get_docstring(module) or ""):
            continue
        pure += 1
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom):
                source = node.module or ""
                for name in (each.name for each in node.names):
                    of_store = re.search(r"\.store\b|_store$", source) and name[0].islower()
                    if source == "malipo.db" or source.startswith("malipo.db.") or name == "store" or of_store:
                        wrong.append(f"{path}: {source} {name}")
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS | {"open"}:
                wrong.append(f"{path}: {ast.unparse(node)}")
    assert pure > 50
    assert wrong == []


def _python_files() -> set[str]:
    """Of everything that git would keep, or that a source archive has."""
    rooms = ("malipo", "malipo_simulator", "simulation", "tests", "benchmarks", "clients", "scripts")
    return {str(path.relative_to(ROOT)) for room in rooms for path in (ROOT / room).rglob("*.py")}


def test_a_file_that_a_comment_names_is_there() -> None:
    files = _python_files()
    lost = [
        f"{file}: `{named}`"
        for file in sorted(files)
        for named in re.findall(r"`([\w./-]+\.py)`", (ROOT / file).read_text())
        if not any(each == named or each.endswith(f"/{named}") for each in files)
    ]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("package", ["malipo", "malipo_simulator", "simulation"])
def test_what_run_starts_imports_only_packages_that_run_installs(package: str) -> None:
    """`./run` installs requirements.lock. What only the tests' environment has would end the demo of a newcomer."""
    locked = {
        match[1].lower().replace("_", "-")
        for name in ("requirements.lock", "requirements-otel.lock")
        for match in re.finditer(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE)
    }
    owners = packages_distributions()
    missing = {
        f"{path.relative_to(ROOT)}: {root}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for root in _imported(path)
        if root not in sys.stdlib_module_names and root not in ("malipo", "malipo_simulator", "simulation")
        if not any(each.lower().replace("_", "-") in locked for each in owners.get(root, ()))
    }
    assert missing == set()


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
