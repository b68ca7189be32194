"""`malipo statements layout`: set what the words of its status column mean, and whose account it is of."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli import terminal
from malipo.cli.database import write
from malipo.cli.output import add_subcommand, print_result, printable
from malipo.db import Tx
from malipo.errors import Invalid
from malipo.network_statements.mapped_profile import with_status_words
from malipo.network_statements.profile import StatementProfile
from malipo.network_statements.status_words import UnknownWord
from malipo.reconciliation.matching.carriers import aggregators
from malipo.reconciliation.matching.set_carrier import set_carrier
from malipo.reconciliation.statements.choose_profile import find_profile, save_status_words
from malipo.settings import Settings
from malipo.words.say import say

_NONE = "none"
_YES, _NO = ("yes", "y", "ndiyo"), ("no", "n", "hapana")


def add_command(acts: Any) -> None:
    layout = add_subcommand(
        acts, "layout", _layout, "set what a layout's status words mean, or that it is an aggregator's"
    )
    layout.add_argument("name", help="the layout's name, from malipo statements profiles")
    layout.add_argument(
        "--moved", action="append", default=[], metavar="WORD", help="a status word that means: the money moved"
    )
    layout.add_argument(
        "--not-moved", action="append", default=[], metavar="WORD", help="a status word that means: no money moved"
    )
    layout.add_argument(
        "--aggregator",
        choices=(*aggregators(), _NONE),
        help="the aggregator whose account it is, with payments of all channels; none: the network's own account",
    )


def _layout(arguments: argparse.Namespace, settings: Settings) -> int:
    if not (arguments.moved or arguments.not_moved or arguments.aggregator):
        raise Invalid("Say --moved, --not-moved or --aggregator.")

    async def act(tx: Tx, actor: Actor, now: datetime) -> StatementProfile:
        name = arguments.name
        if arguments.moved or arguments.not_moved:
            words = {"moved": arguments.moved, "not_moved": arguments.not_moved}
            await save_status_words(tx, name, **words, actor=actor, now=now)
        if arguments.aggregator:
            carrier = "" if arguments.aggregator == _NONE else arguments.aggregator
            await set_carrier(tx, name, carrier, actor=actor, now=now)
        return await find_profile(tx, name)

    profile = write(arguments, settings, act)
    fields = {
        "profile": profile.name,
        "moved": profile.completed,
        "notMoved": profile.failed,
        "aggregator": profile.carrier or None,
    }
    whose = f"{profile.carrier}'s" if profile.carrier else "a network's own"
    return print_result(
        arguments,
        fields,
        f"{profile.name} is {whose}. Money moved: {', '.join(profile.completed) or 'in every row'}. "
        f"It did not: {', '.join(profile.failed)}.",
    )


@dataclass(frozen=True)
class StatusWordChoices:
    """The meanings that an operator gave to words of the status column."""

    moved: tuple[str, ...] = ()
    not_moved: tuple[str, ...] = ()

    def of(self, profile: StatementProfile, *, by: str) -> StatementProfile:
        return with_status_words(profile, moved=self.moved, not_moved=self.not_moved, by=by)


def prompt_words(words: Sequence[UnknownWord]) -> StatusWordChoices:
    """Ask what words mean that the layout does not know. About an empty cell nothing can be said."""
    choices = StatusWordChoices()
    for unknown in words:
        print(printable(say(unknown.problem)), file=sys.stderr)
        if not unknown.word:
            continue
        answer = terminal.prompt(f"Did the money of rows with {unknown.word!r} move (yes, no)").strip().lower()
        if answer in _YES:
            choices = dataclasses.replace(choices, moved=(*choices.moved, unknown.word))
        elif answer in _NO:
            choices = dataclasses.replace(choices, not_moved=(*choices.not_moved, unknown.word))
        else:
            raise Invalid("Say yes or no. Nothing was imported.")
    return choices
