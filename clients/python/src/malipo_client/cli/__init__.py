"""The command line: `malipo-client`. An API key and the address of the service are all it needs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from malipo_client.cli import events, listen, pay, payouts
from malipo_client.cli.exit_codes import HELP, INTERRUPTED, REFUSED, UNKNOWN, WRONG
from malipo_client.cli.output import plain
from malipo_client.errors import ApiError, ConnectionFailed, MalipoError, NotEndedYet, RateLimited, Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        code: int = given.command(given)
        sys.stdout.flush()
    except MalipoError as error:
        return _failed(error)
    except ValueError as error:
        print(f"malipo-client: {plain(str(error))}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does. Python would report it again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def parser() -> argparse.ArgumentParser:
    service = argparse.ArgumentParser(add_help=False)
    service.add_argument(
        "--api-key", metavar="KEY", help="the API key (default: MALIPO_API_KEY, which others cannot see)"
    )
    service.add_argument("--base-url", metavar="URL", help="where the service is (default: MALIPO_URL)")
    service.add_argument("--json", action="store_true", help="print JSON, one object on a line")
    whole = argparse.ArgumentParser(
        prog="malipo-client",
        description="Mobile-money payments from the command line.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for each in (pay, payouts, events, listen):
        each.add_command(commands, service)
    return whole


def _failed(error: MalipoError) -> int:
    request = f" (request {error.request_id})" if isinstance(error, ApiError) and error.request_id else ""
    print(f"malipo-client: {plain(str(error))}{request}", file=sys.stderr)
    if not isinstance(error, (ConnectionFailed, Unavailable, RateLimited, NotEndedYet)):
        return REFUSED
    if error.idempotency_key is not None:
        print(
            f"Whether it was done is not known. Send the same again with --idempotency-key {error.idempotency_key}: "
            "that cannot pay twice.",
            file=sys.stderr,
        )
    return UNKNOWN
