"""The table of test numbers on the page for developers, as it says what becomes of a payment on each network."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "trying.md").read_text()
NETWORKS = {"M-Pesa": "MPESA", "Tigo Pesa": "TIGO_PESA", "Airtel Money": "AIRTEL_MONEY", "HaloPesa": "HALOPESA"}
TYPES = {"collection": "COLLECTION", "payout": "DISBURSEMENT"}

_EXCEPTIONS = re.compile(rf"(.*) \(((?:{'|'.join(NETWORKS)})[,:].*)\)")


class Number(NamedTuple):
    """A test number, called over one network."""

    digits: str  # `other`: any that is not in the table
    type: str
    network: str


class PageRow(NamedTuple):
    """What the page says of it, in the page's words."""

    end: str
    after: str
    events: str
    corrected: str


def _cells() -> dict[Number, PageRow]:
    rows = [
        line.strip("| \n").split(" | ") for line in PAGE.splitlines() if line.startswith(("| 1", "| anything else"))
    ]
    return {
        Number("other" if digits == "anything else" else digits, TYPES[type_], network): PageRow(
            *(_said_of(network, text) for text in texts)
        )
        for digits, type_, *texts in rows
        for network in NETWORKS
    }


def _said_of(network: str, text: str) -> str:
    """`usual (Tigo Pesa, HaloPesa: other; M-Pesa: another)`"""
    if not (found := _EXCEPTIONS.fullmatch(text)):
        return text
    usual, others = found.groups()
    for each in others.split("; "):
        names, said = each.split(": ", 1)
        if network in names.split(", "):
            return said
    return usual


PAGE_ROWS = _cells()
