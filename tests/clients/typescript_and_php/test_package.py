"""The package for npm, as it would be published: packed, installed into an empty project, imported, type-checked."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.typescript_and_php.programs import TYPESCRIPT, built_typescript, here

USE = """
import { Malipo, NotFound, VERSION, type Transaction } from "malipo-client";
const malipo = new Malipo({ apiKey: "mlp_live_1", baseUrl: "http://127.0.0.1:1" });
export const get = (id: string): Promise<Transaction> => malipo.payments.get(id);
console.log(VERSION, NotFound.name);
"""
WRONG = """
import { Malipo, verifyWebhook } from "malipo-client";
const { payments } = new Malipo();
await payments.collect({ amount: "1000", channel: "MPESA", buyerPhone: "+255754000001" });
await payments.collect({ amount: 1000, channel: "BANK", buyerPhone: "+255754000001" });
await payments.collect({ amount: 1000, channel: "MPESA" });
(await verifyWebhook("", {}, "")).transaction.reference;
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built_typescript()
    folder = tmp_path_factory.mktemp("project")
    packed = _run(here("npm"), "pack", "--json", "--ignore-scripts", "--pack-destination", str(folder), cwd=TYPESCRIPT)
    (answer,) = json.loads(packed)
    (folder / "packed.json").write_text(json.dumps(answer))
    (folder / "package.json").write_text('{"name": "shop", "private": true, "type": "module"}')
    _run(here("npm"), "install", "--offline", "--no-audit", "--no-fund", f"./{answer['filename']}", cwd=folder)
    return folder


def _run(*command: str, cwd: Path, code: int = 0) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_has_what_it_needs_and_nothing_else(project: Path) -> None:
    answer = json.loads((project / "packed.json").read_text())
    sources = [each.stem for each in (TYPESCRIPT / "src").glob("*.ts")]
    expected = {f"dist/{name}{ending}" for name in sources for ending in (".js", ".d.ts")}
    assert {each["path"] for each in answer["files"]} == expected | {"package.json", "README.md", "LICENSE"}
    assert answer["size"] < 30_000
    assert [each.name for each in (project / "node_modules").iterdir() if not each.name.startswith(".")] == [
        "malipo-client"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("resolution", ["nodenext", "bundler"])
def test_it_can_be_imported_with_its_types(project: Path, resolution: str) -> None:
    (project / "use.ts").write_text(USE)
    (project / "wrong.ts").write_text(WRONG)
    module = "nodenext" if resolution == "nodenext" else "esnext"
    options = f"--strict --target es2022 --lib es2022,dom --module {module} --moduleResolution {resolution}".split()
    tsc = str(TYPESCRIPT / "node_modules/.bin/tsc")
    _run(tsc, *options, "use.ts", cwd=project)
    version = json.loads((TYPESCRIPT / "package.json").read_text())["version"]
    assert _run(here("node"), "use.js", cwd=project) == f"{version} NotFound\n"
    refused = subprocess.run(
        [tsc, "--noEmit", *options, "wrong.ts"], cwd=project, capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert [line.split(",")[0] for line in refused.stdout.splitlines() if line.startswith("wrong.ts")] == [
        "wrong.ts(4",
        "wrong.ts(5",
        "wrong.ts(6",
        "wrong.ts(7",
    ]
