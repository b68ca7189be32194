"""Go's own code for signed notes and Merkle trees says the same of each receipt: an implementation by other hands."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.receipts.forgeries import FORGERIES, Case, honest, subject_of, with_older
from tests.receipts.generated_log import make_world
from tests.receipts.test_verify_receipt import why_refused

GO = Path(__file__).parents[2] / ".venv" / "go"
SUMDB = "src/cmd/vendor/golang.org/x/mod/sumdb"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert (GO / "bin" / "go").exists(), "Go is missing: run scripts/go"
    folder = tmp_path_factory.mktemp("go")
    shutil.copy(Path(__file__).parent / "go" / "verify.go", folder)
    for package in ("note", "tlog"):
        shutil.copytree(GO / SUMDB / package, folder / "sumdb" / package)
    (folder / "go.mod").write_text("module verify\n\ngo 1.24\n")
    environment = {"HOME": str(folder), "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    environment |= {"PATH": os.environ["PATH"], "GOROOT": str(GO.resolve())}
    subprocess.run([GO / "bin" / "go", "build", "-o", "verify", "."], cwd=folder, env=environment, check=True)
    yield str(folder / "verify")
    subprocess.run(["chmod", "-R", "u+w", folder], check=False)


def test_go_accepts_and_refuses_the_same(program: str) -> None:
    world = make_world(10_000, seed=36)
    subject = subject_of(world)
    cases = {f"honest {number}": honest(world, each) for number, each in enumerate(world.issued)}
    cases["honest, with an older checkpoint"] = with_older(world, subject)
    for key in world.keys:
        cases[f"honest, by the key {key}"] = Case(honest(world, subject).receipt, [key], world.handovers)
    cases |= {name: forge(world, subject, honest(world, subject)) for name, forge in FORGERIES.items()}
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in cases.values())
    said = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(cases)
    ours = {name: why_refused(case) for name, case in cases.items()}
    differ = {
        name: (ours[name], line)
        for name, line in zip(cases, said, strict=True)
        if (ours[name] is None) != (line == "ok")
    }
    assert differ == {}
    assert {name for name, why in ours.items() if why is not None} == set(FORGERIES)
