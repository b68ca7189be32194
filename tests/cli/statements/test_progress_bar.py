"""The bar of a long import: at a terminal only."""

import os
import pty

import pytest

from malipo.cli.statements.progress_bar import ProgressBar, picture


@pytest.mark.parametrize(
    ("done", "total", "output"),
    [
        (0, 1000, "[..............................]   0%  0 of 1,000 lines, 10 a second"),
        (500, 1000, "[###############...............]  50%  500 of 1,000 lines, 10 a second"),
        # A total that was counted roughly is never passed.
        (1001, 1000, "[##############################] 100%  1,001 of 1,000 lines, 10 a second"),
        (500, None, "500 lines, 10 a second"),
    ],
)
def test_the_progress_bar_shows_how_far_the_import_is(done: int, total: int | None, output: str) -> None:
    assert picture(done, total, "lines", per_second=10) == output


def shown(*, is_quiet: bool, is_terminal: bool = True) -> str:
    """What a bar writes to a terminal, or to a pipe."""
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    with os.fdopen(theirs, "w") as stream:
        with ProgressBar(stream, "lines", total=1000, is_quiet=is_quiet) as bar:
            bar.show(500)
            bar.show(501)  # too soon after it
        stream.write("!")  # The end of what is to be read.
        stream.flush()
        said = ""
        while not said.endswith("!"):  # A terminal gives what was written in pieces.
            said += os.read(ours, 1000).decode()
    os.close(ours)
    return said


def test_at_a_terminal_it_is_drawn_and_wiped_away() -> None:
    said = shown(is_quiet=False)
    assert ("500 of 1,000 lines" in said, "501" in said) == (True, False)
    assert said.endswith("\r\x1b[K!")


def test_for_programs_there_is_none() -> None:
    assert shown(is_quiet=True) == "!"
    assert shown(is_quiet=False, is_terminal=False) == "!"
