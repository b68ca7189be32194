"""The output and the exit codes of the commands of `malipo-client`, against a service with prepared answers."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from malipo_client.cli import main

from tests.clients.python.commands import SOURCE, command, environment, run
from tests.clients.python.misbehaving_service import TRANSACTION, MisbehavingService, answer

PAY = ("pay", "1000", "+255754000001", "--channel", "MPESA", "--yes", "--api-key", "key")
TIMES = {
    "PENDING": "2026-11-15T08:30:00.123Z",
    "PROCESSING": "2026-11-15T08:30:02Z",
    "COMPLETED": "2026-11-15T08:31:09Z",
}


def seen(*statuses: str) -> bytes:
    """The payment, as it is after these."""
    logs = [{"status": each, "timestamp": TIMES[each]} for each in statuses]
    return answer(200, {"transaction": {**TRANSACTION, "status": statuses[-1], "statusLogs": logs}})


def test_each_line_has_the_time_of_its_status(service: MisbehavingService) -> None:
    service.answers = [answer(), seen("PENDING"), seen("PENDING", "PROCESSING", "COMPLETED")]
    code, out, _ = run(*PAY, "--base-url", service.url)
    first, last = out.splitlines()
    assert (code, first[:20], last[:20]) == (0, "2026-11-15T08:30:00Z", "2026-11-15T08:31:09Z")
    assert (first.split()[-1], last.split()[-1]) == ("PENDING", "COMPLETED")


@pytest.mark.parametrize(("after", "lines"), [(("PENDING", "PROCESSING"), 2), (("PENDING",), 1)])
def test_after_a_timeout_the_last_line_says_what_the_error_says(
    service: MisbehavingService, after: tuple[str, ...], lines: int
) -> None:
    service.answers = [answer(), seen("PENDING"), seen(*after)]
    code, out, err = run(*PAY, "--base-url", service.url, "--timeout", "0")
    assert (code, len(out.splitlines())) == (3, lines)
    assert out.splitlines()[-1].startswith(TIMES[after[-1]][:19])
    assert out.endswith(f"  {after[-1]}\n")
    assert f"is still {after[-1]}." in err


@pytest.mark.parametrize("command", [PAY[:3], ("payouts", "list"), ("events",), ("listen", "--forward-to", "http://x")])
def test_without_an_address_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    monkeypatch.delenv("MALIPO_URL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    code, out, err = run(*command, "--api-key", "key")
    assert (code, out) == (2, "")
    assert "MALIPO_URL" in err
    assert "--base-url" in err


@pytest.mark.parametrize("command", [(), ("pay",), ("payouts", "send")])
def test_the_help_has_the_exit_codes_of_the_readme(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    result = " ".join(capsys.readouterr().out.partition("exit codes:")[2].split())
    readme = (SOURCE.parent / "README.md").read_text().partition("| exit code |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", readme, re.MULTILINE)
    assert result == " ".join(f"{code} {meaning}" for code, meaning in rows).replace("`", "")


@pytest.mark.parametrize(
    ("typed", "is_sent"), [("", False), ("n", False), ("yess", False), ("y", True), ("YES", True), ("ndiyo", True)]
)
def test_money_moves_only_if_somebody_at_the_terminal_says_yes(
    service: MisbehavingService, tmp_path: Path, typed: str, is_sent: bool
) -> None:
    service.answers = [answer(), seen("PENDING", "PROCESSING", "COMPLETED")]
    asked = [each for each in PAY if each != "--yes"]
    screen, keyboard = os.openpty()
    try:
        os.write(screen, f"{typed}\n".encode())
        done = subprocess.run(
            command(*asked, "--base-url", service.url),
            env=environment(HOME=str(tmp_path)),
            stdin=keyboard,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(screen)
        os.close(keyboard)
    assert "[y/N]" in done.stderr
    assert (done.returncode == 0, bool(service.received)) == (is_sent, is_sent), done.stderr
