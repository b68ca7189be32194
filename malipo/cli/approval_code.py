"""At the terminal too, nobody approves anything that they have not seen: a proposal is shown with a short code, and the
commit compares the code.

An operator at a terminal is shown the proposal, and types yes. A script names the code: --seen CODE.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from malipo.approvals.decide import ApprovalRefusal
from malipo.cli import terminal
from malipo.cli.authority import add_alone, add_here
from malipo.cli.output import printable
from malipo.errors import Conflict, Refusal

_YES = "yes"


class ShownProposal(NamedTuple):
    """A proposal as the second operator sees it (`shown_proposals.py` finds it)."""

    code: str
    terms: dict[str, Any]
    changes: Sequence[str] = ()  # a line each: accounts and payments

    @property
    def lines(self) -> list[str]:
        terms = {name: value for name, value in self.terms.items() if value not in (None, "", False)}
        return [*(f"{name + ':':<20} {value}" for name, value in terms.items()), *self.changes]


class NotSeen(Refusal):
    code = "not_seen"


def add_seen(act: Any) -> None:
    act.add_argument(
        "--seen",
        metavar="CODE",
        help="the code shown with what you approve, from malipo approvals or this command (default: prompted for)",
    )


def add_approval(act: Any) -> None:
    """Add the options of an approval to a command that approves what another operator has proposed."""
    add_here(act)
    add_alone(act)
    add_seen(act)


def agreed(arguments: argparse.Namespace, shown: ShownProposal) -> str:
    """The code of what the operator has seen, and agrees with."""
    if arguments.seen is not None:
        if arguments.seen.strip().lower() == shown.code:
            return shown.code
        _show(shown)
        from malipo.words.say import SENTENCES  # of all rooms, which most commands do not need

        raise Conflict(f"{SENTENCES[ApprovalRefusal.CHANGED]} This is what waits now: --seen {shown.code}")
    _show(shown)
    if arguments.stdin or sys.stdin is None or not sys.stdin.isatty():
        raise NotSeen(f"Nothing has changed. If this is what you approve, name its code: --seen {shown.code}")
    if terminal.prompt(f"Approve it? Type {_YES}").strip().lower() != _YES:
        raise NotSeen("Not approved. Nothing has changed.")
    return shown.code


def _show(shown: ShownProposal) -> None:
    for line in shown.lines:
        print(printable(line), file=sys.stderr)
