"""The page of the networks says what each code means, and who said so: as the tables of the connectors have it."""

import re
from pathlib import Path

import pytest

from malipo.networks import airtel_money_codes, clickpesa_codes, halopesa_codes, mpesa_codes, tigo_pesa_codes
from malipo.networks.code_meanings import Meaning, Table

PAGE = Path(__file__).parent.parent.parent / "docs" / "networks.md"

NETWORKS = {
    "M-Pesa": mpesa_codes.TABLES,
    "Airtel Money": airtel_money_codes.TABLES,
    "Tigo Pesa": tigo_pesa_codes.TABLES,
    "HaloPesa": halopesa_codes.TABLES,
    "ClickPesa": clickpesa_codes.TABLES,
}


def rows_of(tables: dict[str, Table]) -> list[str]:
    """One for each meaning: the codes that have it in the same places stand together."""
    places: dict[tuple[str, Meaning], list[str]] = {}
    for place, table in tables.items():
        for code, meaning in table.items():
            places.setdefault((code, meaning), []).append(place)
    codes: dict[tuple[str, Meaning], list[str]] = {}
    for (code, meaning), where in places.items():
        codes.setdefault((", ".join(where), meaning), []).append(f"`{code}`")
    return [
        f"| {', '.join(names)} | {where} | {meaning.says} | {meaning.in_words} | {meaning.source} |"
        for (where, meaning), names in codes.items()
    ]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_page_has_every_code_with_its_meaning_and_its_source(network: str) -> None:
    section = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)
    [written] = [each for each in section if each.startswith(f"{network}: what each code means\n")]
    rows = [line for line in written.split("\n## ")[0].splitlines() if line.startswith("| `")]
    assert rows == rows_of(NETWORKS[network])
