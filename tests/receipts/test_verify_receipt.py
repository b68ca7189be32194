"""`clients/verify_receipt.py` accepts every honest receipt, and none that was forged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.receipts.forgeries import FORGERIES, Case, honest, subject_of, with_older
from tests.receipts.generated_log import World, make_world
from tests.receipts.log_stack import VERIFIER, verifier


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(300)


def run(folder: Path, case: Case) -> subprocess.CompletedProcess[str]:
    """As a customer runs it: with the files and the keys, and nothing of malipo."""
    (folder / "receipt.json").write_text(case.receipt)
    (folder / "keys.json").write_text(json.dumps({"keys": [], "handovers": case.handovers}))
    (folder / "older.txt").write_text(case.older)
    (folder / "consistency.txt").write_text("".join(f"{each}\n" for each in case.consistency))
    options = [f"--key={each}" for each in case.keys]
    if case.older:
        options += [f"--older={folder / 'older.txt'}", f"--consistency={folder / 'consistency.txt'}"]
    command = [sys.executable, "-I", str(VERIFIER), str(folder / "receipt.json"), f"--keys={folder / 'keys.json'}"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def why_refused(case: Case) -> str | None:
    """In this process, which is quicker. The same checks as `main`, in its order."""
    tool = verifier()
    try:
        receipt = tool.load(case.receipt)
        trusted = tool.follow({tool.key_of(each): None for each in case.keys}, case.handovers)
        found = tool.verify_receipt(receipt, trusted)
        if case.older:
            tool.verify_consistency(found, case.older, case.consistency, trusted)
    except tool.WRONG as error:
        return str(error) or type(error).__name__
    return None


def test_every_honest_receipt_is_accepted(world: World) -> None:
    assert [why for each in world.issued if (why := why_refused(honest(world, each)))] == []
    subject = subject_of(world)
    assert why_refused(with_older(world, subject)) is None
    # By whichever of the keys somebody has got.
    for key in world.keys:
        assert why_refused(Case(honest(world, subject).receipt, [key], world.handovers)) is None


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forgery_is_refused(world: World, name: str) -> None:
    subject = subject_of(world)
    case = honest(world, subject)
    assert why_refused(case) is None
    forged = FORGERIES[name](world, subject, case)
    assert forged != case
    assert why_refused(forged) is not None


def test_there_are_more_than_thirty_kinds() -> None:
    assert len(FORGERIES) > 50


def test_as_a_program(world: World, tmp_path: Path) -> None:
    subject = subject_of(world)
    said = run(tmp_path, with_older(world, subject))
    assert (said.returncode, said.stderr) == (0, "")
    assert f"completed: TZS {subject.receipt['amount']:,} to " in said.stdout
    assert "true as of 2026-10-" in said.stdout or "true as of 2026-" in said.stdout
    assert "--keys" not in said.stdout
    receipt = str(tmp_path / "receipt.json")
    command = [sys.executable, "-I", str(VERIFIER), receipt, f"--key={world.keys[-1]}"]
    alone = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (alone.returncode, "the key may have been retired" in alone.stdout) == (0, True)
    for name in ("another amount in both", "a history that was rewritten"):
        said = run(tmp_path, FORGERIES[name](world, subject, honest(world, subject)))
        assert said.returncode == 1
        assert said.stdout.startswith("REFUSED: ")
    unproven: dict[str, Any] = json.loads(honest(world, subject).receipt)
    unproven["facts"][0]["proof"] = None
    said = run(tmp_path, Case(json.dumps({"success": True, "receipt": unproven}), world.keys))
    assert (said.returncode, said.stdout[:7]) == (2, "not yet")


def test_its_signatures_are_those_of_the_library() -> None:
    tool = verifier()
    for number in range(20):
        key, message = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32), b"m" * number
        public, signature = key.public_key().public_bytes_raw(), key.sign(message)
        tool.verify(public, signature, message)
        for place in (0, 31, 32, 63):
            wrong = bytearray(signature)
            wrong[place] ^= 1
            with pytest.raises(tool.Refused):
                tool.verify(public, bytes(wrong), message)
        with pytest.raises(tool.Refused):
            tool.verify(public, signature, message + b"x")
        # The same signature written otherwise: with the order of the group added to its second half.
        malleable = signature[:32] + (int.from_bytes(signature[32:], "little") + tool.Q).to_bytes(32, "little")
        with pytest.raises(tool.Refused):
            tool.verify(public, malleable, message)


@pytest.mark.slow
def test_every_one_of_ten_thousand_is_accepted() -> None:
    world = make_world(10_000, seed=36)
    assert [why for each in world.issued if (why := why_refused(honest(world, each)))] == []
