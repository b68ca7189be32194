"""The malipo command: reads the settings, runs the subcommand, and prints an error as one sentence.

Exit codes: 0 done; 1 it could not be done, or a check found something; 2 wrong arguments, or refused; 130 stopped by
Ctrl-C; 141 the reader of the output has gone, as after `| head`.
"""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from asyncpg.exceptions import InsufficientPrivilegeError, ReadOnlySQLTransactionError

from malipo import __version__
from malipo.build import build_id
from malipo.cli.command_table import COMMANDS, add_command
from malipo.db import AccessRefused, ConnectionLost
from malipo.errors import Impossible, Invalid, Refusal, Unavailable
from malipo.settings import Settings, demo_settings, environment_file
from malipo.settings.environment import BadSettings, read

_ENVIRONMENT_FILE = "--environment-file"
_ENVIRONMENT_FILE_VARIABLE = "MALIPO_ENVIRONMENT_FILE"
Command = Callable[[argparse.Namespace, Settings], int]


class _Version(argparse.Action):
    def __call__(self, *_: object, **__: object) -> None:
        print(f"malipo {__version__} (build {build_id()})")
        raise SystemExit(0)


class _Parser(argparse.ArgumentParser):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # The name of the command in `cli/authority.py`. The innermost parser sets it last, so its name counts.
        self.set_defaults(act=self.prog.removeprefix("malipo").strip())
        # The default if none is named: `close 2026-11-15` is `close day 2026-11-15`.
        self.usual_act: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.usual_act is not None and args and args[0][:1].isdigit():
            args = [self.usual_act, *args]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """One clear sentence, and where to read more."""
        print(f"malipo: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """All commands with their arguments, or this one."""
    modules = [COMMANDS[command].module] if command in COMMANDS else [each.module for each in COMMANDS.values()]
    top, commands = _top()
    for module in dict.fromkeys(modules):
        import_module(f"malipo.cli.{module}").add_commands(commands)
    return top


def overview() -> argparse.ArgumentParser:
    """All commands without their arguments: enough for `malipo --help`, and for a name that is none of them."""
    top, commands = _top()
    for name in COMMANDS:
        add_command(commands, name)
    return top


def _top() -> tuple[argparse.ArgumentParser, Any]:
    top = _Parser(prog="malipo", description="Mobile-money payments for Tanzania, on PostgreSQL alone.")
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and the build, and exit")
    top.add_argument(
        _ENVIRONMENT_FILE,
        metavar="FILE",
        help="read settings from this file, in systemd's EnvironmentFile format; environment variables win",
    )
    return top, top.add_subparsers(title="commands", metavar="COMMAND", required=True)


def run(arguments: Sequence[str]) -> int:
    if sys.flags.optimize:
        # Checks of money are among what Python then leaves out.
        return _print_error("malipo does not run under python -O: unset PYTHONOPTIMIZE, or leave out -O.", code=1)
    try:
        file, arguments = _without_environment_file(arguments)
        _add_to_environment(file or os.environ.pop(_ENVIRONMENT_FILE_VARIABLE, None))
        name = arguments[0] if arguments else None
        parsed = (overview() if COMMANDS.keys().isdisjoint(arguments) else parser(name)).parse_args(arguments)
        command: Command = parsed.command
        return command(parsed, _settings(name))
    except BadSettings as error:
        return _print_error(*error.sentences, code=2)
    except Refusal as refusal:
        return _print_error(*_why_refused(refusal), code=2)
    except Unavailable as error:
        return _print_error(error.message, code=1)
    except Impossible as error:
        return _print_error(str(error), code=1)
    except AccessRefused as error:
        return _print_error(str(error), code=1)
    except ConnectionLost as error:
        return _print_error(_why_lost(error), code=1)
    except InsufficientPrivilegeError as error:
        return _print_error(f"The role of MALIPO_DATABASE_URL may not do this: {error}.", code=1)
    except KeyboardInterrupt:
        return 130
    except SystemExit as ended:  # the parser has printed its help, or a mistake
        return int(ended.code or 0)


def _without_environment_file(arguments: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The file, and what is left. It stands before the command: what comes after that is the command's own."""
    match arguments:
        case [option, file, *rest] if option == _ENVIRONMENT_FILE:
            return file, rest
        case [option, *rest] if option.startswith(f"{_ENVIRONMENT_FILE}="):
            return option.partition("=")[2], rest
    return None, arguments


def _add_to_environment(file: str | None) -> None:
    """Set the variables of the file, for child processes too. A variable that is set already keeps its value."""
    os.environ.pop(_ENVIRONMENT_FILE_VARIABLE, None)
    if file is None:
        return
    try:
        found = environment_file.parse(Path(file).read_text())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadSettings([f"The environment file {file} cannot be read: {why}."]) from error
    for name in found.ignored:
        _print_error(
            f"{file}: {name!r} is no name of a variable. systemd ignores the line, and so does malipo.", code=0
        )
    for name, value in found.variables.items():
        os.environ.setdefault(name, value)


def _why_refused(refusal: Refusal) -> list[str]:
    """Sentences for the terminal: for mistakes in fields those of the fields, else first the refusal and what to do."""
    from malipo.cli.hints import say_with_hint

    of_fields = [sentence for sentences in (refusal.details or {}).values() for sentence in sentences]
    if of_fields and isinstance(refusal, Invalid):
        return of_fields
    return [say_with_hint(refusal), *of_fields, *map(say_with_hint, refusal.problems)]


def _settings(command: str | None) -> Settings:
    """The settings in the environment; in the data folder of a demo, those of the demo."""
    settings = read(os.environ)
    completed = demo_settings.complete(os.environ, command, settings.data_dir)
    return settings if completed == dict(os.environ) else read(completed)


def _why_lost(error: ConnectionLost) -> str:
    if isinstance(error.__cause__, ReadOnlySQLTransactionError):
        return "The database is read-only, as a standby is: give this command on the primary."
    return f"The database does not answer: {error}"


def _print_error(*sentences: str, code: int) -> int:
    for sentence in sentences:
        print(f"malipo: {sentence}", file=sys.stderr)
    return code


def main() -> NoReturn:
    """Run a command. Errors are caught also when the output is written: what a command prints may stay in a buffer
    until it ends."""
    try:
        code = run(sys.argv[1:])
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BrokenPipeError:
        code = _discard_output(141)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        code = _discard_output(_print_error("The output cannot be written: no space is left.", code=1))
    raise SystemExit(code)


def _discard_output(code: int) -> int:
    """Discard the output: or the interpreter would try to write the rest when it ends, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return code
