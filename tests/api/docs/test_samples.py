"""Every sample of the documentation is run: against the demo, with the clients that /docs hands out."""

import ast
import asyncio
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import time
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from malipo_client import __version__, sign_webhook

from malipo.api import openapi
from malipo.api.docs.pages import EXAMPLE_SIMULATOR_URL, EXAMPLE_URL
from tests.api.docs.reference_samples import SHOWN
from tests.api.docs.samples import OTHERS, ROOT, SERVED, Sample, by_page
from tests.api.published_contract import OPERATIONS, faults, resolved
from tests.conftest import NO_LIMITS, Client, free_port, starting, until_ready
from tests.examples.example_receivers import interpreter

TSC = ROOT / "clients" / "typescript" / "node_modules" / ".bin" / "tsc"
# As the samples have it, so that theirs are the same request again.
ORDER = {
    "amount": 1000,
    "channel": "MPESA",
    "buyerPhone": "+255754000123",
    "buyerName": "Asha",
    "orderReference": "1001",
}
SECRET = "whsec_2DHZtIFOw2G+tINnRoVxGCLoaCKCNats2lBHBXcqZdY="
# What a receiver of "*" gets: events of payments, of a batch, and some that it does not know.
BODIES = tuple(
    json.dumps(
        {
            "event": name,
            about: {"id": "x_1", "reference": "MLP-1", "status": "COMPLETED", "amount": 1000, "paidAmount": 1000},
        }
    )
    for name, about in (
        ("payment.completed", "transaction"),
        ("payout.failed", "transaction"),
        ("batch.completed", "batch"),
        ("link.paid", "link"),
        ("settlement.completed", "settlement"),
        ("wallet.low", "transaction"),
    )
)


@dataclass(frozen=True)
class Reader:
    """Somebody with the address of a service, a key, and what they have downloaded."""

    folder: Path
    url: str
    phones_url: str
    key: str
    environment: dict[str, str]

    def paste(self, sample: Sample) -> str:
        code = sample.code.replace(EXAMPLE_SIMULATOR_URL, self.phones_url).replace(EXAMPLE_URL, self.url)
        return code.replace("mlp_live_…", self.key)

    def write(self, language: str, ending: str, *, before: str = "", after: dict[str, str] | None = None) -> list[str]:
        """A file for each page, with all of its samples. Their names."""
        names = []
        for page, samples in by_page(language).items():
            names.append(f"{Path(page).stem}.{ending}")
            code = "\n".join(map(self.paste, samples))
            (self.folder / names[-1]).write_text(before + code + (after or {}).get(page, ""))
        return names

    async def run(self, *command: object) -> None:
        words = [str(each) for each in command]
        process = await asyncio.create_subprocess_exec(
            *words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, f"{' '.join(words)}\n{said.decode()}"


@pytest.fixture(scope="module")
async def reader(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    folder = tmp_path_factory.mktemp("reader")
    with starting(folder) as start:
        await until_ready(start("demo", simulator_port=free_port(), **NO_LIMITS), seconds=240)
        access: dict[str, Any] = msgspec.json.decode((folder / "var" / "demo.json").read_bytes())
        async with aiohttp.ClientSession() as http:
            paid = await _paid_order(Client(http, access["baseUrl"], access["apiKey"]))
            await _download(http, access["baseUrl"], folder)
        yield Reader(
            folder, access["baseUrl"], access["phonesUrl"], access["apiKey"], _environment(folder, access, paid)
        )


async def _paid_order(api: Client) -> str:
    made = await api("POST", "/v1/payments", ORDER, headers={"Idempotency-Key": "order-1001-1"})
    path = f"/v1/payments/{made.body['transaction']['id']}"
    while (await api("GET", f"{path}?wait=25")).body["transaction"]["status"] != "COMPLETED":
        pass
    return str(made.body["transaction"]["id"])


async def _download(http: aiohttp.ClientSession, url: str, folder: Path) -> None:
    """As the page about the clients says; what pip and npm would do is to unpack them."""

    async def get(name: str) -> bytes:
        async with http.get(f"{url}/docs/downloads/{name}") as answer:
            assert answer.status == 200
            return await answer.read()

    (folder / "Malipo.php").write_bytes(await get("Malipo.php"))
    with zipfile.ZipFile(io.BytesIO(await get(f"malipo_client-{__version__}-py3-none-any.whl"))) as wheel:
        wheel.extractall(folder / "python")
    package = folder / "malipo-client.tgz"
    package.write_bytes(await get(f"malipo-client-{__version__}.tgz"))
    shutil.unpack_archive(package, folder / "node_modules")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "malipo-client")


def _environment(folder: Path, access: dict[str, Any], paid: str) -> dict[str, str]:
    programs = folder / "bin"
    programs.mkdir()
    for name in ("pip", "npm"):  # That they can install it is a test of its own, which takes longer.
        (programs / name).write_text('#!/bin/sh\nexec curl -s -o /dev/null "$2"\n')
        (programs / name).chmod(0o755)
    # An answer that is no success ends a script; where one is told, the status is printed instead.
    for name, line in (("failing", "fail-with-body"), ("telling", 'write-out = "\\n%{http_code}"')):
        (folder / name).mkdir()
        (folder / name / ".curlrc").write_text(line + "\n")
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "CURL_HOME": str(folder / "failing"),
        "PYTHONPATH": str(folder / "python"),
        "MALIPO_URL": access["baseUrl"],
        "MALIPO_API_KEY": access["apiKey"],
        "EMAIL": access["email"],
        "PASSWORD": access["password"],
        "PAYMENT": paid,
        "CURSOR": "",
        "RECEIVER": f"http://127.0.0.1:{free_port()}/hook",
        "WEBHOOK_SECRET": SECRET,
        "WEBHOOK_ID": "evt_1",
        "WEBHOOK_TIMESTAMP": "1794734792",
        "BODY": "{}",
    }


async def test_every_command_works_when_it_is_pasted(reader: Reader) -> None:
    for samples in by_page("sh").values():
        script = "\n".join(["set -euo pipefail", *(_command(reader, each) for each in samples)])
        (reader.folder / "page.sh").write_text(script)
        await reader.run("bash", "page.sh")


def _command(reader: Reader, sample: Sample) -> str:
    code = reader.paste(sample)
    if sample.status is None:
        return code
    reported = f"CURL_HOME={reader.folder / 'telling'} bash -c {shlex.quote(code)}"
    return f'test "$({reported} | tail -n 1)" = {sample.status}'


async def test_every_sample_in_python_runs(reader: Reader) -> None:
    files = reader.write("python", "py", after=_PYTHON_ENDS)
    (reader.folder / "run.py").write_text("import runpy, sys\nfor file in sys.argv[1:]:\n    runpy.run_path(file)\n")
    await reader.run(interpreter("python"), "run.py", *files)


# A receiver is called with what malipo would send, also of a batch.
_PYTHON_ENDS = {
    "webhooks.md": """
import json, time
from malipo_client.webhook_signature import sign_webhook
secret = os.environ["WEBHOOK_SECRET"]
def signed(body, now):
    signature = sign_webhook(body, "evt_1", now, secret)
    return {"webhook-id": "evt_1", "webhook-timestamp": str(now), "webhook-signature": signature}
for body in %r:
    headers = signed(body, int(time.time()))
    assert receive(body, headers) == 200
    assert receive(body + b" ", headers) == 401
    verify_by_hand(secret, body, headers)
    for another in (headers | {"webhook-id": "evt_2"}, signed(body, int(time.time()) - 600)):
        try:
            verify_by_hand(secret, body, another)
        except PermissionError:
            continue
        raise AssertionError("A replay was taken.")
"""
    % [body.encode() for body in BODIES]
}


def _signed(body: str) -> dict[str, str]:
    now = int(time.time())
    signature = sign_webhook(body.encode(), "evt_1", now, SECRET)
    return {"webhook-id": "evt_1", "webhook-timestamp": str(now), "webhook-signature": signature}


def _typescript_ends() -> dict[str, str]:
    ends = dict.fromkeys(by_page("typescript"), "\nexport {};\n")
    for body in BODIES:
        request = f'{{ method: "POST", body: {json.dumps(body)}, headers: {json.dumps(_signed(body))} }}'
        asked = f'await receive(new Request("https://shop.example.com/", {request}))'
        ends["webhooks.md"] += f'if (({asked}).status !== 200) throw new Error("refused");\n'
    return ends


def _php_ends() -> dict[str, str]:
    calls = [
        f"receive({_in_php(body)}, json_decode({_in_php(json.dumps(_signed(body)))}, true)) === 200 || throw new Error();"
        for body in BODIES
    ]
    return {"webhooks.md": "\n".join(["", *calls])}


def _in_php(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


async def test_every_sample_in_typescript_is_typed_and_runs(reader: Reader) -> None:
    node = interpreter("node")
    if not TSC.exists():
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip("TypeScript is not installed: run scripts/test-needs")
    files = reader.write("typescript", "ts", after=_typescript_ends())
    for shown in SHOWN:  # What these send is tested in test_reference_samples.
        name = f"reference-{shown.operation.id}-{SHOWN.index(shown)}.ts"
        (reader.folder / name).write_text(shown.clients["typescript"] + "\nexport {};\n")
    (reader.folder / "node.d.ts").write_text("declare const process: { env: Record<string, string | undefined> };\n")
    (reader.folder / "package.json").write_text('{"type": "module"}')
    options = {"module": "NodeNext", "target": "ES2022", "lib": ["ES2022", "DOM", "DOM.Iterable"], "types": []}
    config = {"compilerOptions": options | {"strict": True, "exactOptionalPropertyTypes": True}, "include": ["*.ts"]}
    (reader.folder / "tsconfig.json").write_text(json.dumps(config))
    await reader.run(TSC)
    (reader.folder / "run.js").write_text("for (const file of process.argv.slice(2)) await import(file);\n")
    await reader.run(node, "run.js", *(f"./{Path(file).stem}.js" for file in files))


async def test_every_sample_in_php_runs(reader: Reader) -> None:
    php = interpreter("php")
    files = reader.write("php", "php", before="<?php\n", after=_php_ends())
    # Each begins with the file of the client, as a program of its own would.
    for file in files:
        text = (reader.folder / file).read_text()
        (reader.folder / file).write_text(text.replace("require 'Malipo.php'", "require_once 'Malipo.php'"))
    strict = "set_error_handler(fn ($_, $what) => throw new Error($what));"  # Also a field that is not there.
    (reader.folder / "run.php").write_text(
        f"<?php {strict} foreach (array_slice($argv, 1) as $file) {{ require $file; }}"
    )
    await reader.run(php, "-d", "error_reporting=E_ALL", "-d", "display_errors=stderr", "run.php", *files)


def test_every_field_of_a_sample_in_json_is_one_of_the_contract() -> None:
    known = set(_properties(openapi.load())) | {"…", "orderId", "till"}
    for sample in SERVED:
        if sample.language == "json":
            unknown = set(_names(json.loads(sample.code))) - known
            assert not unknown, f"{sample}: {unknown}"


def test_an_answer_in_json_is_one_that_its_route_gives() -> None:
    """With every field that it always has, and none that it never has."""
    held = {sample: sample.operation for sample in SERVED if sample.operation is not None}
    assert {"guides/start.md", "webhooks.md", "recipients.md"} <= {sample.page for sample in held}
    for sample, operation in held.items():
        answers = OPERATIONS[operation]["responses"]
        success = resolved(next(answers[status] for status in ("200", "201") if status in answers))
        wrong = faults(json.loads(sample.code), success["content"]["application/json"]["schema"])
        assert not wrong, f"{sample}: {wrong}"


def _properties(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = list(schema["properties"]) if isinstance(schema.get("properties"), dict) else []
        return own + [name for each in schema.values() for name in _properties(each)]
    return [name for each in schema for name in _properties(each)] if isinstance(schema, list) else []


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        # What is wrong is told by the names of fields.
        return [*value, *(name for key, each in value.items() if key != "details" for name in _names(each))]
    return [name for each in value for name in _names(each)] if isinstance(value, list) else []


@pytest.mark.parametrize("language", sorted({each.language for each in (*OTHERS, *SERVED)}))
def test_every_sample_can_at_least_be_read(language: str) -> None:
    assert language in (*_READ, "", "text", "http", "typescript", "php", "ini", "yaml", "nginx", "sql", "xml", "promql")
    for sample in OTHERS:
        if sample.language == language and language in _READ:
            _READ[language](sample)


def _read_json(sample: Sample) -> None:
    try:
        json.loads(re.sub(r"(?<=[\]}\"\w]), …", "", sample.code))
    except ValueError as error:
        raise AssertionError(f"{sample}: {error}") from None


def _read_python(sample: Sample) -> None:
    try:
        is_inside = sample.code.startswith(" ")  # a piece of a table
        ast.parse("{" + sample.code + "}" if is_inside else sample.code)
    except SyntaxError as error:
        raise AssertionError(f"{sample}: {error}") from None


def _read_shell(sample: Sample) -> None:
    done = subprocess.run(["bash", "-n"], input=sample.code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{sample}: {done.stderr}"


_READ = {"json": _read_json, "python": _read_python, "sh": _read_shell}
