"""Names that were given up for the field's own words do not come back: files, classes, functions, tables, columns, metrics.

Prose may use the words as it likes. What is looked at is what a newcomer would search for.
"""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import pytest

from malipo.db import Database

ROOT = Path(__file__).parents[1]
HERE = Path(__file__)
CODE = ("malipo", "malipo_simulator", "benchmarks", "tests", "examples", "clients")

# File or folder, without its ending → where that is now.
FILES = {
    "admit": "merchants/authenticate.py",
    "answering": "api/http/writer.py",
    "bell": "db/notify.py",
    "bookmark": "cli/developer/cursor_file.py",
    "browsing": "merchants/store/sessions.py, payments/store/timeline.py",
    "by_counts": "payments/listing/offset_pagination.py",
    "cells": "payments/counts/categories.py",
    "clock_difference": "db/clock_skew.py",
    "command": "cli/actor.py, cli/database.py, cli/output.py",
    "correction": "payments/correction_moves.py",
    "counted": "payments/listing/offset_pagination.py",
    "courier": "worker/webhook_sender.py",
    "door": "dashboard/site.py",
    "draw": "dashboard/render.py",
    "entrance": "dashboard/merchant/login_pages.py",
    "exchange": "networks/http/transport.py",
    "garbage": "gc_tuning.py",
    "guardian": "db/embedded/supervisor.py",
    "hearings": "payments/store/network_answers.py",
    "held": "networks/token_cache.py",
    "housekeeping": "worker/pruner.py",
    "kit": "networks/conformance.py",
    "line": "networks/http/connection.py, worker/network_sender.py",
    "lines": "webhooks/connections.py",
    "listening": "cli/listen.py",
    "measure": "benchmarks/journey/trials.py, benchmarks/webhooks/trials.py",
    "migrating": "cli/migrate.py",
    "mistakes": "dashboard/form_errors.py",
    "needs": "payments/store/batch_read.py",
    "origin": "client_address.py",
    "pace": "worker/webhook_concurrency.py",
    "post": "webhooks/http_client.py",
    "postgres_binaries": "db/embedded/binaries.py",
    "postgres_user": "db/embedded/system_user.py",
    "pursuit": "payments/network_answer/",
    "record": "payments/status_writer.py",
    "resends": "webhooks/store/undelivered_events.py, webhooks/store/delivery_queue.py",
    "seal": "encryption.py",
    "send_delivery": "webhooks/send_attempt.py, webhooks/record_attempts.py",
    "searches": "payments/search/",
    "searching": "payments/search/",
    "serving": "cli/serve.py",
    "shapes": "api/request_body.py",
    "shown": "payments/views.py",
    "submit": "payments/claim_for_sending.py, payments/lapse.py",
    "tallies": "counts/",
    "tally": "counts/",
    "tallying": "ledger/statement_counts.py",
    "trail": "audit_log/",
    "uncounted": "payments/counts/backlog.py",
    "visit": "dashboard/browser_request.py",
    "watch": "db/long_poll.py",
    "web": "http_server/",
    "where": "db/where_clause.py",
    "why": "payments/case_reason.py",
    "windows": "payments/search/ngrams.py",
    "wire": "networks/http/client.py",
    "working": "cli/worker.py",
}
CLASSES = {
    "Admit": "Authenticate",
    "Admitted": "Caller",
    "Attempts": "LoginAttempts",
    "Authorised": "TokenAuth",
    "Bell": "Notifier",
    "Bookmark": "CursorFile",
    "CannotOpen": "CannotDecrypt",
    "ClockDifference": "ClockSkew",
    "Courier": "WebhookSender",
    "Deed": "Entry",
    "Exchanges": "Transport",
    "Gate": "CallbackAccess",
    "Fact": "OutboxEvent",
    "Guardian": "Supervisor",
    "Heard": "ReceivedAnswer",
    "Hearing": "StoredAnswer",
    "Held": "TokenCache",
    "InstallationWatch": "InstallationMonitor",
    "Knock": "AccessRequest",
    "Lines": "ConnectionPool",
    "Mistake": "FieldError",
    "Needs": "BatchInputs",
    "Next": "NextAction",
    "NoWayIn": "NoToken",
    "Pace": "WebhookConcurrency",
    "Paper": "Booking",
    "Parcel": "WebhookMessage",
    "Post": "WebhookClient",
    "Seal": "Encryption",
    "Stand": "RegisteredEndpoint",
    "TooSlow": "BodyTooSlow",
    "Submit": "ClaimForSending",
    "Truth": "ResolvedOutcome",
    "Try": "Attempt",
    "Use": "PooledConnection",
    "Visit": "MerchantRequest",
    "Where": "Conditions",
    "Wire": "HttpClient",
}
FUNCTIONS = {
    "asked_first": "decide_after_restore",
    "cannot_ask": "cannot_query",
    "cells_of": "categories_of",
    "claim_asks": "claim_queries",
    "find_deeds": "find_of_merchant",
    "find_mark": "find_position",
    "find_told": "find_delivery_attempts",
    "fingerprint": "request_hash",
    "is_credited_by_itself": "is_credited_automatically",
    "keep_house": "prune_hourly",
    "lining_up": "insert_dispatches_sql",
    "lock_marks": "lock_positions",
    "lock_paper": "lock_booking",
    "may_ask": "can_query",
    "reseal": "reencrypt",
    "searchable": "search_text",
    "set_marks": "set_positions",
    "turned_away": "nothing_sent",
    "tell_and_move": "write_moves_and_events",
    "windows_of": "ngrams_of",
}
TABLES = {
    "attempts": "webhook_attempts",
    "audit": "audit_log",
    "circuits": "open_circuits",
    "deliveries": "webhook_deliveries",
    "endpoints": "webhook_endpoints",
    "feed_epochs": "feed_restore_points",
    "hearings": "network_answers",
    "rate_windows": "rate_limit_windows",
    "searches": "search_index",
    "send_marks": "worker_send_counts",
    "tallies": "rollup_counts",
    "tally_marks": "rollup_positions",
}
# Column → what it is called now.
COLUMNS = {
    "act": "source",
    "admitted": "requests",
    "answer": "response_body",
    "asks": "query_count",
    "at": "created_at, received_at, attempted_at",
    "batches": "batch_count",
    "book": "rollup",
    "claim": "claim_id",
    "class": "rate_class",
    "ended_by": "decided_by",
    "fingerprint": "request_hash",
    "fixed": "fixed_fee",
    "headers": "response_headers",
    "hint": "hinted_failure",
    "is_alone": "is_single_operator",
    "last": "last_number",
    "least": "min_fee",
    "line": "move_number",
    "lines": "statement_lines",
    "most": "max_fee",
    "next_act": "next_action",
    "not_founds": "not_found_count",
    "not_indexed": "not_indexed_count",
    "number": "feed_number",
    "origin": "address",
    "probe_at": "next_probe_at",
    "probes": "probe_count",
    "proposed_at": "requested_at",
    "proposed_by": "requested_by",
    "pruned": "pruned_to",
    "route": "connector",
    "searchable": "search_text",
    "seconds": "total_seconds",
    "sends": "send_count",
    "server": "server_id",
    "switched_off_at": "disabled_at",
    "switched_off_why": "disabled_reason",
    "took_ms": "duration_ms",
    "tries": "attempt_count",
    "upto": "position",
    "wallet_after": "balance_after",
    "wallet_line": "statement_line",
    "what": "action",
    "who": "actor",
    "windows": "ngrams",
}
# Where such a column is the right word.
COLUMNS_THAT_STAND = {
    ("idempotency_keys", "route"),  # of the API
    ("schema_migrations", "number"),
}
# Names of columns that are no ordinary words: no field, argument or variable has them either.
IDENTIFIERS = {name for name in COLUMNS if "_" in name and name not in ("is_alone", "not_indexed", "proposed_by")} | {
    "credits_by_itself",
    "is_success_heard",
    "searchable",
    "upto",
}
METRICS = {
    "admitted",
    "bell",
    "courier",
    "difference",
    "hearings",
    "housekeeping",
    "pursuit",
    "tally",
    "tallies",
    "trail",
}

_IN_SQL = re.compile(
    rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|TRUNCATE) (?:ONLY )?({'|'.join(TABLES)})\b(?!\.|\()"  # a statement names it
    rf"|\b({'|'.join(name for name in TABLES if '_' in name)})\b"  # no ordinary word
)


@cache
def _files() -> list[Path]:
    ends = {".py", ".sql", ".html", ".lua", ".js", ".php"}
    return [
        path
        for folder in CODE
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in ends and path != HERE and not {"node_modules", "__pycache__"} & set(path.parts)
    ]


def _nodes(names: Collection[str]) -> Iterator[tuple[Path, ast.AST]]:
    """Of the files that hold one of these names at all: to parse every file takes long."""
    wanted = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for path in _files():
        if path.suffix == ".py" and wanted.search(text := path.read_text()):
            for node in ast.walk(ast.parse(text)):
                yield path.relative_to(ROOT), node


def test_no_file_or_folder_has_a_retired_name() -> None:
    parts = {(path, Path(part).stem) for path in _files() for part in path.relative_to(ROOT).parts}

    assert {str(path.relative_to(ROOT)): FILES[name] for path, name in parts if name in FILES} == {}


def test_no_class_and_no_function_has_a_retired_name() -> None:
    found = {}
    for path, node in _nodes({f"class {name}" for name in CLASSES} | {f"def {name}" for name in FUNCTIONS}):
        if isinstance(node, ast.ClassDef) and node.name in CLASSES:
            found[f"{path}: {node.name}"] = CLASSES[node.name]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in FUNCTIONS:
            found[f"{path}: {node.name}"] = FUNCTIONS[node.name]

    assert found == {}


def test_no_field_argument_or_variable_has_a_retired_name() -> None:
    found = {
        f"{path}: {name}"
        for path, node in _nodes(IDENTIFIERS)
        for name in (
            getattr(node, attribute, None) for attribute in ("id", "attr", "arg") if not isinstance(node, ast.Constant)
        )
        if name in IDENTIFIERS
    }

    # The contract still calls it so, and a client has the contract's names.
    assert found == {"clients/python/src/malipo_client/records.py: switched_off_at"}


async def test_no_table_and_no_column_has_a_retired_name(database: Database) -> None:
    async with database.read() as connection:
        rows = await connection.fetch(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        )
        names = await connection.fetch(
            """
            SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            """
        )
    columns = {(row["table_name"], row["column_name"]) for row in rows}
    retired = re.compile(rf"(?:{'|'.join(TABLES)})(?:_.*)?")

    assert len(columns) > 250
    assert {table for table, _ in columns} & set(TABLES) == set()
    assert {each for each in columns if each[1] in COLUMNS} == COLUMNS_THAT_STAND
    indexes_and_constraints = {row["name"] for row in names if not row["name"].startswith("audit_log")}
    assert {name for name in indexes_and_constraints if retired.fullmatch(name)} == set()


def test_no_statement_names_a_retired_table() -> None:
    texts = {path: path.read_text() for path in (*_files(), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))}

    assert {
        f"{path.relative_to(ROOT)}: {found[0]}" for path, text in texts.items() for found in _IN_SQL.finditer(text)
    } == set()


def test_no_metric_has_a_retired_name() -> None:
    metrics = re.findall(r'"(malipo_[a-z_]+)"', (ROOT / "malipo/metrics.py").read_text())

    assert len(metrics) > 5
    assert {name for name in metrics if set(name.split("_")) & METRICS} == set()


@pytest.mark.parametrize(
    "text", ["SELECT 1 FROM hearings", "UPDATE deliveries d SET", "INSERT INTO audit (id", "send_marks"]
)
def test_a_retired_table_is_seen(text: str) -> None:
    assert _IN_SQL.search(text)


@pytest.mark.parametrize(
    "text", ["FROM audit_log", "the deliveries of an endpoint", "from endpoints import x", "attempts"]
)
def test_an_ordinary_word_is_not_taken_for_a_retired_table(text: str) -> None:
    assert not _IN_SQL.search(text)
