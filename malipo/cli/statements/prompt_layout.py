"""Asks how a file that no profile fits is to be read: guesses, shows ten lines, and saves the profile."""

import dataclasses
import sys
from itertools import islice
from pathlib import Path

from malipo import clock, money
from malipo.cli import terminal
from malipo.cli.output import printable
from malipo.errors import Invalid
from malipo.network_statements.cell_values import TIME_FORMATS
from malipo.network_statements.guess_profile import Guess, guess
from malipo.network_statements.mapped_profile import is_free_name, profile_of
from malipo.network_statements.profile import NEEDED, SignRule, StatementField, StatementProfile
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import StatementLine
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.carriers import aggregators, carrier_named
from malipo.reconciliation.statements.choose_profile import NoProfileFits, first_rows
from malipo.words.say import say

_SHOWN_LINES = 10
_NAMES = {
    StatementField.RECEIPT: "the network's receipt number",
    StatementField.AT: "the time",
    StatementField.AMOUNT: "the amount",
    StatementField.PAID_IN: "what came in",
    StatementField.WITHDRAWN: "what went out",
    StatementField.DIRECTION: "whether it came in or went out",
}


def prompt_profile(path: Path, channel: Channel, *, account: str) -> StatementProfile:
    found = guess(first_rows(path))
    if found is None:
        raise NoProfileFits(f"No row of {path.name} looks like the header of a statement.")
    if not sys.stdin.isatty():
        raise NoProfileFits(
            f"No profile for {channel} knows the columns of {path.name}. Import it once at a terminal, where you are "
            "asked what each column is, or name a profile with --profile."
        )
    _print(f"No profile knows the columns of {path.name}. They are:")
    for number, name in enumerate(found.header, 1):
        _print(f"  {number:>2}  {printable(name)}")
    found = _complete(found)
    _show(path, profile_of(found, channel, name=""))
    if terminal.prompt("Are these lines read as they should be (yes, no)").strip().lower() not in ("yes", "y", "ndiyo"):
        raise NoProfileFits("Nothing was imported. Describe the file in a profile, or save it with plainer columns.")
    name = terminal.prompt("A name for this layout, such as tigo-portal").strip()
    if not is_free_name(name):
        raise Invalid("A name is up to 40 letters, digits and hyphens, and not that of a profile of malipo's own.")
    if not (carrier := carrier_named(account)):
        question = f"Whose account is it: the network's own (no), or an aggregator's ({', '.join(aggregators())})"
        carrier = carrier_named(terminal.prompt(question).strip().lower())
    return profile_of(dataclasses.replace(found, carrier=carrier), channel, name=name)


def _complete(found: Guess) -> Guess:
    """Ask for what could not be guessed."""
    columns = dict(found.columns)
    for field in found.missing:
        columns[field] = _column(_NAMES[field], len(found.header))
    sign = found.sign or SignRule.SIGNED
    for field in NEEDED[sign]:
        if field not in columns:
            columns[field] = _column(_NAMES[field], len(found.header))
    format_ = found.time_format or terminal.prompt(f"How is the time written ({', '.join(TIME_FORMATS)})").strip()
    return dataclasses.replace(found, columns=columns, sign=sign, time_format=format_)


def _column(meaning: str, columns: int) -> int:
    answer = terminal.prompt(f"Which column is {meaning} (1 to {columns})").strip()
    if not answer.isdecimal() or not 1 <= int(answer) <= columns:
        raise Invalid(f"{answer!r} is not a column from 1 to {columns}. Nothing was imported.")
    return int(answer) - 1


def _show(path: Path, profile: StatementProfile) -> None:
    statement, shown = read_statement(path, profile), 0
    _print("Read like this, the first lines are:")
    for line in islice(statement.lines, _SHOWN_LINES):
        shown += 1
        if isinstance(line, StatementLine):
            way = "in " if line.amount >= 0 else "out"
            amount = money.exact(line.amount, line.cents).removeprefix("-")
            at = line.at.astimezone(clock.ZONE)  # as the file has it
            _print(f"  {at:%Y-%m-%d %H:%M}  {way} {amount:>12}  {line.kind:<8} {line.receipt}")
        else:
            _print(f"  row {line.row}: {say(line.why)}")
    for unknown in statement.statuses.unknown:
        _print(f"  {say(unknown.problem)}")
    if not shown and not statement.statuses.unknown:
        raise NoProfileFits("Read like this, the file has no line. Nothing was imported.")


def _print(text: str) -> None:
    print(printable(text), file=sys.stderr)
