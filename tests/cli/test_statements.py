"""malipo statements: import, list and profiles, as an operator types them."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from malipo import clock
from malipo.db import Database
from malipo.operators import store as operators
from tests.journeys import operator_sessions
from tests.journeys.operator_commands import run_command

FILES = Path(__file__).parents[1] / "network_statements" / "files"


@pytest.fixture
async def asha(database: Database, database_url: str) -> dict[str, str]:
    """The settings of an operator who is logged in."""
    async with database.begin() as tx:
        await operators.insert_operator(tx, "opr_1", "asha", now=clock.now())
    return {"database_url": database_url, "operator": "asha"}


async def test_a_refused_statement_says_first_what_is_refused_and_what_to_do(
    asha: dict[str, str], tmp_path: Path
) -> None:
    path = FILES / "mpesa-account.csv"
    done = run_command("statements", "import", str(path), "--channel", "MPESA", "--new-account", "--json", **asha)
    other = msgspec.json.decode(done.stdout)["id"]
    corrected = tmp_path / "corrected.csv"
    corrected.write_text(path.read_text().replace("1,003,432.00", "1,003,532.00").replace("5,000.00", "5,100.00"))
    refused = run_command("statements", "import", str(corrected), "--channel", "MPESA", "--accept-problems", **asha)
    first, *rest = refused.stderr.splitlines()
    assert first == (
        "malipo: corrected.csv contradicts mpesa-account.csv, which covers the same time. Nothing was imported. If this one "
        f"is right, withdraw that one with another operator, then import this one: malipo statements withdraw {other}"
    )
    assert "malipo: It closes with 1,003,532; mpesa-account.csv closes with 1,003,432." in rest
    # Nobody is asked how its columns are read for a network that it is not of.
    elsewhere = run_command("statements", "import", str(path), "--channel", "TIGO_PESA", **asha)
    assert elsewhere.stderr.startswith("malipo: mpesa-account.csv is the same file, and was imported as MPESA.")


async def test_a_statement_is_imported_by_its_columns_and_listed(asha: dict[str, str]) -> None:
    path = str(FILES / "mpesa-account.csv")
    doubted = run_command("statements", "import", path, "--channel", "MPESA", **asha)
    assert (doubted.returncode, doubted.stdout) == (2, "")
    assert doubted.stderr.endswith("say so: --new-account\n")
    done = run_command("statements", "import", path, "--channel", "MPESA", "--new-account", **asha)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "mpesa-account.csv: 7 lines, 7 of them new, read as mpesa-account.\n"
        "It opens with 1,000,000 and closes with 1,003,432 shillings.\n"
        "Rows that moved no money, and were passed over: Failed 1.\n"
        "Lines matched with payments: 0.\n"
        "The network charged TZS 68, which is booked.\n"
        "-TZS 1,500 between own accounts is booked through suspense.\n"
        "Exceptions: 4 (see: malipo exceptions list)\n"
        "  3 theirs_only: the network has it, and we do not\n"
        "  1 unknown_line: a line of an unknown kind, or a reversal of nothing that we have\n"
    )
    again = run_command("statements", "import", path, "--channel", "MPESA", "--json", **asha)
    assert msgspec.json.decode(again.stdout)["new"] == 0
    [listed] = msgspec.json.decode(run_command("statements", "list", "--json", **asha).stdout)
    assert (listed["file"], listed["lines"], listed["adds up"], listed["by"]) == (
        "mpesa-account.csv",
        7,
        True,
        "operator asha",
    )
    assert (
        run_command("statements", "list", "--channel", "HALOPESA", **asha).stdout == "No statement was imported yet.\n"
    )
    assert "mpesa-shortcode" in run_command("statements", "profiles", **asha).stdout


async def test_an_import_is_withdrawn_and_a_booking_undone_by_two(asha: dict[str, str], database: Database) -> None:
    async with database.begin() as tx:
        await operators.insert_operator(tx, "opr_2", "juma", now=clock.now())
    juma, path = asha | {"operator": "juma"}, str(FILES / "mpesa-account.csv")
    imported = run_command("statements", "import", path, "--channel", "MPESA", "--new-account", "--json", **asha)
    file = msgspec.json.decode(imported.stdout)["id"]
    why = ("--reason", "The portal has issued it again")

    def show() -> dict[str, list[dict[str, object]]]:
        found: dict[str, list[dict[str, object]]] = msgspec.json.decode(
            run_command("statements", "show", file, "--json", **asha).stdout
        )
        return found

    [booking] = [each for each in show()["bookings"] if each["kind"] == "network_fee"]
    # By hand: 68 of fees and 1,500 that were swept away lie at the network again.
    output = run_command("statements", "show", file, **asha).stdout
    assert (
        "\nWithdrawing it would change:\n"
        "  Float at M-Pesa: -TZS 1,568 → TZS 0\n"
        "  Charged by networks: TZS 68 → TZS 0\n"
        "  Suspense: -TZS 1,500 → TZS 0\n"
        "Matches that are undone: 0.\n"
    ) in output
    assert (
        f"\nUndoing {booking['booking']} would change:\n"
        "  Float at M-Pesa: -TZS 1,568 → -TZS 1,500\n"
        "  Charged by networks: TZS 68 → TZS 0\n"
    ) in output
    undone = run_command("statements", "undo", str(booking["booking"]), *why, **asha)
    assert undone.stdout == "The booking is undone. Its lines are open: malipo exceptions list\n", undone.stderr
    assert "Another operator must approve it" in run_command("statements", "withdraw", file, *why, **asha).stdout
    assert run_command("statements", "approve", file, "--here", **asha).returncode == 2
    assert "/operator/statements" in run_command("statements", "approve", file, **juma).stderr
    done = run_command("statements", "approve", file, "--here", **juma)
    assert (done.returncode, done.stdout.split(".")[0]) == (0, "The import is withdrawn"), done.stderr
    assert show()["withdrawn"] is not None
    assert f"id:                  {file}" in run_command("statements", "show", file, **asha).stdout
    assert "There are no such exceptions." in run_command("exceptions", "list", **asha).stdout
    assert run_command("statements", "reject", file, **juma).returncode == 2
    assert run_command("statements", "withdraw", "stf_x", *why, **asha).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["nowhere.csv", "--channel", "MPESA"], "There is no file 'nowhere.csv'."),
        ([str(FILES / "generic.csv"), "--channel", "MPESA", "--profile", "visa"], "There is no layout 'visa'"),
        ([str(FILES / "clickpesa.csv"), "--channel", "VISA"], "invalid choice"),
        ([str(FILES / "generic.csv"), "--channel", "MPESA", "--account", "x" * 61], "--account must be up to 60"),
        ([str(FILES / "generic.csv"), "--channel", "MPESA", "--profile", "clickpesa"], "no row with the columns"),
        ([__file__, "--channel", "MPESA"], "looks like the header of a statement"),
    ],
)
async def test_a_mistake_is_one_sentence(asha: dict[str, str], arguments: list[str], output: str) -> None:
    done = run_command("statements", "import", *arguments, **asha)
    assert (done.returncode, done.stdout) == (2, "")
    assert output in done.stderr
    assert done.stderr.count("\n") == 1


async def test_every_problem_of_a_file_is_printed(asha: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text((FILES / "generic.csv").read_text().replace("opening balance;100", "opening balance;90"))
    done = run_command("statements", "import", str(path), "--channel", "TIGO_PESA", **asha)
    assert (done.returncode, done.stderr) == (
        2,
        "malipo: wrong.csv does not add up. Nothing was imported.\n"
        "malipo: The heading opens with 90, the lines with 100.\n",
    )
    accepts = ("--accept-problems", "--new-account")
    accepted = run_command("statements", "import", str(path), "--channel", "TIGO_PESA", *accepts, **asha)
    assert accepted.returncode == 0
    assert "Accepted although: The heading opens with 90" in accepted.stdout


async def test_only_an_operator_imports(database_url: str) -> None:
    done = run_command(
        "statements", "import", str(FILES / "generic.csv"), "--channel", "TIGO_PESA", database_url=database_url
    )
    assert done.returncode == 2
    assert "malipo operators login" in done.stderr


UNKNOWN = """Bidhaa,Kumbukumbu,Saa,Kiasi,Amount,Date,Salio,Receipt
x,K1,z,1,"5,000",01/11/2026 10:00,"5,000",A1
x,K2,z,1,-200,01/11/2026 11:00,"4,800",A2
"""


async def test_an_unknown_layout_is_asked_for_once_and_then_known(asha: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "portal.csv"
    path.write_text(UNKNOWN)
    refused = run_command("statements", "import", str(path), "--channel", "HALOPESA", **asha)
    assert refused.returncode == 2
    assert "Import it once at a terminal" in refused.stderr

    said, code = _at_a_terminal(asha, str(path), answers=["yes", "halo-portal", "no"])
    assert code == 0, said
    assert "2026-11-01 10:00  in         5,000  money    A1" in said
    assert "2026-11-01 11:00  out          200  money    A2" in said
    assert "2 lines, 2 of them new, read as halo-portal" in said

    path.write_text(UNKNOWN + 'x,K3,z,1,100,01/11/2026 12:00,"4,900",A3\n')
    done = run_command("statements", "import", str(path), "--channel", "HALOPESA", **asha)
    assert done.stdout.startswith("portal.csv: 3 lines, 1 of them new, read as halo-portal.")


@pytest.mark.parametrize(
    ("answers", "output"),
    [(["no"], "Nothing was imported"), (["yes", "generic"], "not that of a profile of malipo's own")],
)
async def test_an_answer_that_does_not_fit_imports_nothing(
    asha: dict[str, str], tmp_path: Path, answers: list[str], output: str
) -> None:
    (tmp_path / "portal.csv").write_text(UNKNOWN)
    said, code = _at_a_terminal(asha, str(tmp_path / "portal.csv"), answers=answers)
    assert (code, output in said) == (2, True), said
    assert run_command("statements", "list", **asha).stdout == "No statement was imported yet.\n"


STATUSES = """Receipt,Date,Amount,Status,Remarks
A1,01/11/2026 10:00,5000,Imefanikiwa,x
A2,01/11/2026 11:00,-200,Imerudishwa,y
A3,01/11/2026 12:00,-300,Failed,z
"""


async def test_a_word_of_the_status_column_that_nobody_explained_imports_nothing(
    asha: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "portal.csv"
    path.write_text(STATUSES)
    answers = ["yes", "halo-portal", "azampay", "yes", "no"]  # the lines, its name, an aggregator's, and the two words
    said, code = _at_a_terminal(asha, str(path), answers=answers)
    assert code == 0, said
    assert "whether money moved if the status is 'Imerudishwa'. Rows with it: 1 (3)." in said
    assert "1 line, 1 of them new, read as halo-portal" in said
    assert "Rows that moved no money, and were passed over: Failed 1, Imerudishwa 1." in said
    path.write_text(STATUSES + "A4,01/11/2026 13:00,-400,Inasubiri,x\n")
    period = ("--from", "2026-11-01", "--to", "2026-11-01")
    command = ("statements", "import", str(path), "--channel", "HALOPESA", *period)
    refused = run_command(*command, **asha)
    assert "malipo statements layout halo-portal --moved WORD" in refused.stderr
    assert "'Inasubiri'. Rows with it: 1 (5)." in refused.stderr
    output = run_command("statements", "layout", "halo-portal", "--moved", "Inasubiri", "--json", **asha)
    assert output.stderr == ""
    layout = msgspec.json.decode(output.stdout)
    assert (layout["moved"][-2:], layout["aggregator"]) == (["Imefanikiwa", "Inasubiri"], "azampay")
    done = msgspec.json.decode(run_command(*command, "--json", **asha).stdout)
    assert (done["lines"], done["begins"], done["ends"]) == (2, "2026-10-31T21:00:00Z", "2026-11-01T21:00:00Z")
    assert done["passedOver"] == {"Failed": 1, "Imerudishwa": 1}
    own = run_command("statements", "layout", "generic", "--not-moved", "Inasubiri", "--aggregator", "azampay", **asha)
    assert (own.returncode, "only a saved one can be an aggregator's" in own.stderr) == (2, True)
    own = run_command("statements", "layout", "generic", "--not-moved", "Inasubiri", **asha)
    assert own.stdout.endswith("TF, TE, Inasubiri.\n")


def _at_a_terminal(asha: dict[str, str], path: str, *, answers: list[str]) -> tuple[str, int]:
    """What is said at a real terminal, and the exit code."""
    ours, theirs = pty.openpty()
    session = operator_sessions.session_of(asha["database_url"], asha["operator"])
    environment = {
        "PATH": os.environ["PATH"],
        "MALIPO_DATABASE_URL": asha["database_url"],
        "MALIPO_OPERATOR_SESSION": str(session),
    }
    command = [sys.executable, "-m", "malipo", "statements", "import", path, "--channel", "HALOPESA", "--new-account"]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    os.close(theirs)
    threading.Thread(target=os.write, args=(ours, "".join(f"{each}\n" for each in answers).encode())).start()
    said, _ = process.communicate(timeout=240)
    os.close(ours)
    return said.decode(), process.returncode


async def test_after_a_restore_a_folder_of_statements_is_imported_and_matched_and_may_be_again(
    asha: dict[str, str], tmp_path: Path
) -> None:
    script = Path(__file__).parents[2] / "deploy/backup/import-statements"
    command = tmp_path / "malipo"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m malipo "$@"\n')
    command.chmod(0o755)
    for channel, names in {"MPESA": ["mpesa-account.csv"], "TIGO_PESA": ["not-a-statement.csv"]}.items():
        (tmp_path / "statements" / channel).mkdir(parents=True)
        for name in names:
            given = FILES / name
            (tmp_path / "statements" / channel / name).write_text(given.read_text() if given.exists() else "no,table\n")
    path = str(tmp_path / "statements" / "MPESA" / "mpesa-account.csv")
    first = run_command("statements", "import", path, "--channel", "MPESA", "--new-account", **asha)
    assert first.returncode == 0, first.stderr

    def run() -> subprocess.CompletedProcess[str]:
        session = operator_sessions.session_of(asha["database_url"], "asha")
        return subprocess.run(
            [script, tmp_path / "statements"],
            env={
                "PATH": os.environ["PATH"],
                "MALIPO": str(command),
                "MALIPO_DATABASE_URL": asha["database_url"],
                "MALIPO_OPERATOR_SESSION": str(session),
            },
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    assert done.returncode == 1, "one file is no statement"
    assert done.stdout.endswith("import-statements: 1 files are imported, 1 were refused\n")
    (tmp_path / "statements" / "TIGO_PESA" / "not-a-statement.csv").unlink()
    done = run()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        "import-statements: 1 files are imported, 0 were refused",
    ), done.stderr
