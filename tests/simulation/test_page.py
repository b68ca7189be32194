"""docs/simulation.md is held against the code: faults, findings, files, safeguards."""

import re
from pathlib import Path

from simulation import options, oracle
from simulation.plan import KINDS
from simulation.safeguards import SAFEGUARDS

ROOT = Path(__file__).parents[2]
_OF_SUBJECTS = ("refunds/refund", "batches/batch", "links/link", "receipts/receipt", "settlements/settlement")
PAGE = (ROOT / "docs" / "simulation.md").read_text()


def _rows(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| (`[^|]+`) \| ", section, re.MULTILINE)


def test_every_kind_of_fault_is_described_and_no_other() -> None:
    assert _rows("Faults") == [f"`{kind}`" for kind in KINDS]


def test_every_kind_of_finding_is_described_and_no_other() -> None:
    """As the oracle lists them, and as it finds them."""
    described = [row.strip("`") for row in _rows("Findings")]
    assert oracle.__doc__
    assert re.findall(r"^    ([a-z-]+) {2,}", oracle.__doc__, re.MULTILINE) == described
    files = ("oracle.py", "statements.py", *(f"{each}_oracle.py" for each in _OF_SUBJECTS))
    source = "\n".join((ROOT / "simulation" / name).read_text() for name in files)
    assert set(re.findall(r'(?:find|Finding)\(\s*"([a-z-]+)"', source)) == set(described)


def test_every_file_of_the_simulation_is_described_and_no_other() -> None:
    described = [name for row in _rows("How it works") for name in re.findall(r"`(\w+\.py)`", row)]
    files = {path.name for path in (ROOT / "simulation").glob("*.py")} - {"__init__.py", "__main__.py"}
    assert sorted(described) == sorted(files)


def test_every_safeguard_is_in_one_of_the_tables_and_those_that_no_seed_notices_with_their_note() -> None:
    section = PAGE.split("\n## Safeguards\n")[1].split("\n## ")[0]
    noticed = re.findall(r"^\| `([^`]+)` \| \d+ \| .+ \|$", section, re.MULTILINE)
    unnoticed = dict(re.findall(r"^\| `([^`]+)` \| \d+ of \d+ \| (.+) \|$", section, re.MULTILINE))
    assert sorted([*noticed, *unnoticed]) == sorted(SAFEGUARDS)
    assert unnoticed == {name: SAFEGUARDS[name].note for name in unnoticed}


def test_every_command_of_the_page_is_one() -> None:
    commands = re.findall(r"(?:^|`|\$ )\./run simulate([^`#\n]*)", PAGE, re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        words = command.split()
        assert "--help" in words or options.parse(words), command
