"""Prints the result of a command as a sentence, a table or JSON, and makes subcommands that take --json."""

import argparse
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from malipo import clock
from malipo.cli.authority import add_stdin
from malipo.settings import Settings


def add_subcommand(acts: Any, name: str, command: Callable[[argparse.Namespace, Settings], int], help_: str) -> Any:
    """A subcommand, with --json; and with --stdin, if it asks for the password."""
    act = acts.add_parser(name, help=help_, description=help_)
    act.add_argument("--json", action="store_true", help="print JSON")
    act.set_defaults(command=command)
    add_stdin(act)
    return act


def print_result(arguments: argparse.Namespace, value: Any, sentence: str) -> int:
    """The result, as JSON or as a sentence."""
    print(_json(value) if arguments.json else "\n".join(map(printable, sentence.split("\n"))))
    return 0


def print_table(
    arguments: argparse.Namespace, rows: Sequence[dict[str, Any]], *, empty: str, right: Sequence[str] = ()
) -> int:
    """The results, as JSON or as a table that a person can read."""
    if arguments.json:
        print(_json(rows))
    elif not rows:
        print(empty)
    else:
        lines = [{name: name for name in rows[0]}, *({name: cell(row[name]) for name in row} for row in rows)]
        widths = {name: max(len(line[name]) for line in lines) for name in rows[0]}
        for line in lines:
            cells = (
                cell.rjust(widths[name]) if name in right else cell.ljust(widths[name]) for name, cell in line.items()
            )
            print("  ".join(cells).rstrip())
    return 0


def cell(value: Any) -> str:
    """A value as a person reads it, on one line."""
    return printable(_in_words(value))


def printable(text: str) -> str:
    """Names come from others: a line break or an escape in one would forge a line, or command the terminal."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()


def _in_words(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list() | tuple():
            return ", ".join(map(str, value)) or "-"
        case datetime():
            return clock.iso(value)
    return str(value)


def _json(value: Any) -> str:
    encoded = msgspec.json.encode(value, enc_hook=str)
    return msgspec.json.format(encoded).decode()
