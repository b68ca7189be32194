"""The command line. Exit code 2 is a wrong argument, 1 an error of the machine, for example a port in use."""

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m malipo_simulator",
        description="The mobile-money networks of Tanzania, with phones to answer their prompts.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", type=_port, default=8081, help="0 takes any that is free (default: 8081)")
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="keep what a network would not forget there")
    parser.add_argument("--speed", type=_speed, default=1.0, help="how many times faster than life (default: 1)")
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name under which pages and API may be opened, beside localhost and --host; can be repeated",
    )
    parser.add_argument(
        "--slow-seconds",
        type=_seconds,
        default=30.0,
        help="close a connection that takes longer to send a request or to read an answer (default: 30)",
    )
    parser.add_argument(
        "--mail-port",
        type=_port,
        help="take e-mails there, which the page /mail shows; without it there is no mail server",
    )
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input does")
    given = parser.parse_args(arguments)
    # Imported only now, so that a wrong argument is reported at once.
    from malipo_simulator.journal import Unusable
    from malipo_simulator.server import CannotListen, run

    try:
        run(
            host=given.host,
            port=given.port,
            state=given.state,
            speed=given.speed,
            allowed_hosts=given.allowed_host,
            slow_seconds=given.slow_seconds,
            with_stdin=given.until_stdin_closes,
            mail_port=given.mail_port,
        )
    except (CannotListen, Unusable) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds (above 0, at most 3600)")
    return seconds


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed (above 0, at most 10000)")
    return speed
