"""An approver at the command line sees the proposal, and can approve only what was shown."""

import argparse
from collections.abc import Iterator

import pytest

from malipo.cli import approval_code, parser
from malipo.cli.approval_code import ShownProposal
from malipo.cli.authority import AUTHORITY, Authority
from malipo.errors import Conflict
from tests.cli.test_wallet_command import LARGE, Terminal
from tests.cli.test_wallet_command import terminal as terminal
from tests.journeys.operator_commands import malipo_at_terminal, malipo_unseen

TOP_UP = ("wallet", "top-up", "Duka", LARGE, "--reference", "NMB 7")
APPROVE = ("wallet", "approve", "NMB 7", "--here")


async def test_a_program_names_the_code_of_what_it_has_seen(terminal: Terminal, database_url: str) -> None:
    await terminal.json_of(*TOP_UP, by="asha")
    refused = await malipo_unseen(*APPROVE, database_url=database_url, operator="juma")
    assert (refused.code, refused.out) == (2, "")
    for shown in ("TZS 2,500,000", "NMB 7", "Duka", "operator asha"):
        assert shown in refused.err
    [listed] = await terminal.json_of("approvals")
    assert f"--seen {listed['seen']}" in refused.err
    one = await terminal("approvals", listed["id"])
    assert all(shown in one.out for shown in ("TZS 2,500,000", "NMB 7", listed["seen"]))
    assert (await terminal("approvals", "bok_none")).code == 2

    approved = await terminal(*APPROVE, "--seen", listed["seen"].upper(), by="juma")
    assert (approved.code, "Approved and booked" in approved.out) == (0, True)


async def test_another_sum_than_the_one_that_was_seen_is_shown_and_not_booked(terminal: Terminal) -> None:
    await terminal.json_of(*TOP_UP, by="asha")
    [listed] = await terminal.json_of("approvals")
    await terminal.json_of("wallet", "reject", "NMB 7", by="asha")
    await terminal.json_of("wallet", "top-up", "Duka", "9,000,000", "--reference", "NMB 7", by="asha")
    refused = await terminal(*APPROVE, "--seen", listed["seen"], by="juma")
    assert (refused.code, refused.out) == (2, "")
    assert "TZS 9,000,000" in refused.err
    assert "has changed since you saw it" in refused.err
    assert len(await terminal.json_of("approvals")) == 1


def test_every_command_that_approves_compares_what_was_seen() -> None:
    approving = {each for each, who in AUTHORITY.items() if who is Authority.SECOND_OPERATOR}
    taken = {name: each.format_usage() for name, each in commands_of(parser())}
    for command in (*approving, "restore release"):
        assert "--seen" in taken[command], command


def commands_of(command: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    choices = [each.choices for each in command._actions if isinstance(each, argparse._SubParsersAction)]
    if not choices:
        yield command.prog.removeprefix("malipo "), command
    for parsers in choices:
        for each in parsers.values():
            yield from commands_of(each)


@pytest.mark.parametrize(("typed", "is_approved"), [("yes", True), ("no", False)])
async def test_a_person_at_a_terminal_is_shown_it_and_types_yes(
    terminal: Terminal, database_url: str, typed: str, is_approved: bool
) -> None:
    await terminal.json_of(*TOP_UP, by="asha")
    said = await malipo_at_terminal(*APPROVE, typed=typed, database_url=database_url, operator="juma")
    assert all(shown in said.err for shown in ("TZS 2,500,000", "NMB 7", "Duka", "Approve it? Type yes:"))
    assert (said.code == 0, "Approved and booked" in said.out) == (is_approved, is_approved)
    assert (await terminal.json_of("approvals") == []) == is_approved


def test_a_code_that_was_mistyped_approves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = argparse.Namespace(seen="abcdefghix", stdin=False)
    with pytest.raises(Conflict, match="--seen abcdefghij"):
        approval_code.agreed(arguments, ShownProposal("abcdefghij", {"amount": "TZS 5"}))
    assert "TZS 5" in capsys.readouterr().err
