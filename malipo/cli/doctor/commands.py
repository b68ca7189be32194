"""malipo doctor: checks this installation, and prints a sentence for each result. It changes nothing."""

import argparse
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

from malipo import log
from malipo.cli.command_table import COMMANDS
from malipo.cli.doctor.checks import DoctorFinding, Level, findings_of
from malipo.cli.doctor.gather import gather
from malipo.cli.output import add_subcommand, print_table, printable
from malipo.settings import Settings

_MARKS = {Level.OK: "ok      ", Level.WARNING: "warning ", Level.PROBLEM: "PROBLEM "}


def add_commands(commands: Any) -> None:
    doctor = add_subcommand(commands, "doctor", _doctor, COMMANDS["doctor"].help)
    doctor.add_argument("--backups", metavar="FOLDER", help="the folder in which deploy/backup/nightly stores backups")


def _doctor(arguments: argparse.Namespace, settings: Settings) -> int:
    log.configure(level="error", stream=sys.stderr)
    found = findings_of(gather(settings, backups=arguments.backups))
    if arguments.json:
        print_table(arguments, [asdict(each) for each in found], empty="")
    else:
        _print(found)
    return 1 if any(each.level is Level.PROBLEM for each in found) else 0


def _print(found: list[DoctorFinding]) -> None:
    for each in found:
        print(f"{_MARKS[each.level]} {each.check}: {printable(each.sentence)}")
    counts = Counter(each.level for each in found)
    print(f"{counts[Level.OK]} ok, {counts[Level.WARNING]} warnings, {counts[Level.PROBLEM]} problems.")
