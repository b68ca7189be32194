"""Safeguards of the service, each of which can be taken out, to see whether the simulation notices."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from simulation.runner import Runner


@dataclass(frozen=True)
class Safeguard:
    words: str
    take_out: Callable[[], None]


SAFEGUARDS: dict[str, Safeguard] = {}


def take_out(name: str) -> None:
    SAFEGUARDS[name].take_out()


def show_table(runner: Runner, given: argparse.Namespace, say: Callable[[str], None]) -> int:
    raise NotImplementedError
