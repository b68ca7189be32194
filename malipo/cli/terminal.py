"""Asks the operator at the terminal. Where there is no terminal, one sentence says what to do instead."""

import argparse
import getpass
import sys
import warnings
from typing import Any

from malipo.errors import Invalid, Refusal


class NoTerminal(Refusal):
    code = "no_terminal"


def add_stdin(act: Any) -> None:
    act.add_argument("--stdin", action="store_true", help="read it as one line from standard input, without a prompt")


def prompt(question: str) -> str:
    if sys.stdin is None or not sys.stdin.isatty():
        raise NoTerminal(f"There is no terminal to ask for the {question.lower()}: give it with the command.")
    print(f"{question}: ", end="", file=sys.stderr, flush=True)
    return _line(question)


def secret(arguments: argparse.Namespace, question: str) -> str:
    """Typed and never shown; or the next line of standard input, with --stdin."""
    if arguments.stdin:
        return _line(question)
    try:
        with warnings.catch_warnings():
            # Without a terminal the library would show what is typed, and say so only in a warning.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(f"{question}: ")
    except (getpass.GetPassWarning, EOFError):
        raise NoTerminal(f"There is no terminal to ask for the {question.lower()}: use --stdin.") from None


def _line(question: str) -> str:
    try:
        line = sys.stdin.readline() if sys.stdin is not None else ""
        line.encode()  # Where the locale is C, bytes that are not text are read without complaint.
    except UnicodeError:
        raise Invalid(f"The {question.lower()} on standard input is not text.") from None
    if not line:
        raise NoTerminal(f"Standard input ended before the {question.lower()}.")
    return line.rstrip("\r\n")
