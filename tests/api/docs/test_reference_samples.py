"""The samples of the reference: those of all languages send the same request, and the answer beside them fits it.

Each is run as it stands, against a service that answers with the example of the contract and remembers what it was asked.
"""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from malipo.api.docs import samples
from tests.api.docs.curl_commands import CurlRequest
from tests.api.docs.reference_samples import FOR_KEYS, OPERATIONS, SHOWN, Shown
from tests.api.docs.samples import ROOT
from tests.examples.example_receivers import interpreter

# What the clients say by themselves: they turn pages, and lists have all fields.
BY_THEMSELVES = {"view", "limit", "page"}


class Service:
    """It gives each operation's first good answer, as its page shows it."""

    def __init__(self) -> None:
        self.asked: list[CurlRequest] = []
        answers = {
            (shown.curl.method, shown.curl.path): next(each for each in shown.operation.answers if each.is_good)
            for shown in SHOWN
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(handler) -> None:  # noqa: N805
                length = int(handler.headers.get("content-length") or 0)
                body = json.loads(handler.rfile.read(length)) if length else None
                at = urlsplit(handler.path)
                query = {name: values[0] for name, values in parse_qs(at.query).items()}
                headers = {name.lower(): value for name, value in handler.headers.items()}
                self.asked.append(CurlRequest(handler.command, at.path, query, headers, body))
                good = answers[handler.command, at.path]
                content = good.examples[0].text.encode()
                handler.send_response(int(good.status))
                handler.send_header("content-type", "application/json")
                handler.send_header("content-length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


def run(service: Service, folder: Path, *command: str, **environment: str) -> list[str]:
    known = {"PATH": "/usr/bin:/bin", "MALIPO_URL": service.url, "MALIPO_API_KEY": "mlp_live_1"}
    done = subprocess.run(
        command, cwd=folder, env=known | environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def write(folder: Path, language: str, ending: str, before: str = "") -> list[str]:
    names = [f"sample_{number:02}.{ending}" for number in range(len(SHOWN))]
    for name, shown in zip(names, SHOWN, strict=True):
        (folder / name).write_text(before + shown.clients[language])
    return names


def test_what_takes_a_key_has_a_sample_in_each_language_and_nothing_else_has() -> None:
    assert {operation.id for operation in FOR_KEYS} == set(samples.CALLS)
    for operation in OPERATIONS:
        for request in operation.requests:
            languages = [each.language for each in request.clients]
            assert languages == (["python", "typescript", "php"] if operation in FOR_KEYS else []), operation.id


def test_in_python(service: Service, tmp_path: Path) -> None:
    names = write(tmp_path, "python", "py")
    (tmp_path / "run.py").write_text("import runpy, sys\nfor name in sys.argv[1:]:\n    runpy.run_path(name)\n")
    client = str(ROOT / "clients" / "python" / "src")
    said = run(service, tmp_path, interpreter("python"), "run.py", *names, PYTHONPATH=client)
    assert_same(service, said)


def test_in_typescript(service: Service, tmp_path: Path) -> None:
    """As JavaScript, which these are too. That their types are right is tested with the samples of the guides."""
    names = write(tmp_path, "typescript", "mjs")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "malipo-client").symlink_to(ROOT / "clients" / "typescript")
    (tmp_path / "run.mjs").write_text("for (const name of process.argv.slice(2)) await import(`./${name}`);\n")
    assert_same(service, run(service, tmp_path, interpreter("node"), "run.mjs", *names))


def test_in_php(service: Service, tmp_path: Path) -> None:
    names = write(tmp_path, "php", "php", before="<?php\n")
    for name in names:
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace("require 'Malipo.php'", "require_once 'Malipo.php'"))
    (tmp_path / "Malipo.php").symlink_to(ROOT / "clients" / "php" / "Malipo.php")
    (tmp_path / "run.php").write_text("<?php foreach (array_slice($argv, 1) as $file) { require $file; }")
    strict = ("-d", "error_reporting=E_ALL", "-d", "display_errors=stderr")
    assert_same(service, run(service, tmp_path, interpreter("php"), *strict, "run.php", *names))


def assert_same(service: Service, said: list[str]) -> None:
    """What the clients have sent is what curl would send; and what they print is in the answer that is shown."""
    assert [(each.method, each.path) for each in service.asked] == [
        (each.curl.method, each.curl.path) for each in SHOWN
    ]
    for asked, shown in zip(service.asked, SHOWN, strict=True):
        expected, name = shown.curl, shown.operation.id
        assert (asked.body or None) == (expected.body or None), name
        assert asked.headers["x-api-key"] == "mlp_live_1"
        assert asked.headers.get("idempotency-key") == expected.headers.get("idempotency-key"), name
        assert without(asked.query) == without(expected.query), name
    printed = [line for line in said if line and not line.isspace()]
    assert len(printed) > len(SHOWN)
    assert not [line for line in printed if "undefined" in line or "Warning" in line or line == "None"]


def without(query: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name not in BY_THEMSELVES}


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.operation.id)
def test_the_answer_beside_a_request_is_one_to_it(shown: Shown) -> None:
    """A list that asks for some status has those, and no more than were asked for."""
    good = next(each for each in shown.operation.answers if each.is_good)
    answer = json.loads(next(each for each in good.examples if each.is_json).text)
    things = next((value for value in answer.values() if isinstance(value, list)), [])
    for name in {"status", "kind"} & set(shown.curl.query):
        assert {each[name] for each in things} == set(shown.curl.query[name].split(",")), name
    if "pagination" in answer:
        reported = answer["pagination"]
        assert reported["limit"] == int(shown.curl.query["limit"])
        assert reported["total"] == len(things), "all there are"
        assert reported["pages"] == 1
    elif "limit" in shown.curl.query and shown.operation.id != "listEvents":
        assert "next" not in answer, "there are no more than fit into the page"
    if "phone" in shown.curl.query:
        prefixes = [each["prefixes"] for each in things if each.get("suggested")]
        assert [any(shown.curl.query["phone"].startswith(each) for each in known) for known in prefixes] == [True]


@pytest.mark.parametrize("operation", ["collect", "disburse", "refund", "createWebhookByKey", "changeWebhookByKey"])
def test_what_is_created_has_the_fields_of_the_first_request(operation: str) -> None:
    shown = next(each for each in SHOWN if each.operation.id == operation)
    good = next(each for each in shown.operation.answers if each.is_good)
    made: Any = next(each for each in json.loads(good.examples[0].text).values() if isinstance(each, dict))
    sent = shown.curl.body or {}
    assert {name: value for name, value in sent.items() if name in made} == {
        name: made[name] for name in sent if name in made
    }
    assert len(made.keys() & sent.keys()) >= 1


def test_no_key_is_shown_for_two_requests() -> None:
    """Whoever pastes one sample after the other would be refused, or get the payment of before."""
    keys = [key for shown in SHOWN if (key := shown.curl.headers.get("idempotency-key"))]
    assert len(keys) == len(set(keys)) == 11
