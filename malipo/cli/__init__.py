"""The malipo command: reads the settings, runs the subcommand, and prints an error as one sentence.

Exit codes: 0 done; 1 it could not be done, or a check found something; 2 wrong arguments, or refused.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from malipo.db import ConnectionLost
from malipo.errors import Impossible, Refusal, Unavailable
from malipo.settings import Settings
from malipo.settings.environment import BadSettings, read

Command = Callable[[argparse.Namespace, Settings], int]

# Which module each command is in. Only that one is imported: most commands need neither HTTP nor a network.
_MODULES = {
    "demo": "demo",
    "serve": "serve",
    "api": "serve",
    "worker": "worker",
    "migrate": "migrate",
    "merchant": "merchants",
    "key": "api_keys",
    "tariff": "tariffs",
    "wallet": "wallet",
    "payments": "payments",
    "networks": "networks",
    "hold": "hold",
    "restore": "restore",
    "ledger": "ledger",
    "operators": "operators",
    "audit": "operators",
    "listen": "listen",
    "trigger": "trigger",
    "secrets": "secrets",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One clear sentence, and where to read more."""
        print(f"malipo: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """All commands, or as many as this one needs."""
    top = _Parser(prog="malipo", description="Mobile-money payments for Tanzania, on PostgreSQL alone.")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    modules = [_MODULES[command]] if command in _MODULES else dict.fromkeys(_MODULES.values())
    for module in modules:
        import_module(f"malipo.cli.{module}").add_commands(commands)
    return top


def run(arguments: Sequence[str]) -> int:
    try:
        parsed = parser(arguments[0] if arguments else None).parse_args(arguments)
        command: Command = parsed.command
        return command(parsed, read(os.environ))
    except BadSettings as error:
        return _print_error(*error.sentences, code=2)
    except Refusal as refusal:
        told = [sentence for sentences in (refusal.details or {}).values() for sentence in sentences]
        return _print_error(*(told or [refusal.message]), code=2)
    except Unavailable as error:
        return _print_error(error.message, code=1)
    except Impossible as error:
        return _print_error(str(error), code=1)
    except ConnectionLost as error:
        return _print_error(f"The database does not answer: {error}", code=1)
    except KeyboardInterrupt:
        return 130


def _print_error(*sentences: str, code: int) -> int:
    for sentence in sentences:
        print(f"malipo: {sentence}", file=sys.stderr)
    return code


def main() -> NoReturn:
    raise SystemExit(run(sys.argv[1:]))
