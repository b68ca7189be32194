"""The page of each network lists the meaning of each code and its source, as in the tables of the connectors."""

from pathlib import Path

import pytest

from malipo.networks.airtel_money import codes as airtel_money_codes
from malipo.networks.azampay import codes as azampay_codes
from malipo.networks.clickpesa import callbacks as clickpesa_callbacks
from malipo.networks.clickpesa import codes as clickpesa_codes
from malipo.networks.code_meanings import CodeMeaning, Table
from malipo.networks.halopesa import codes as halopesa_codes
from malipo.networks.mpesa import codes as mpesa_codes
from malipo.networks.tigo_pesa import codes as tigo_pesa_codes

PAGES = Path(__file__).parent.parent.parent / "docs" / "networks"

NETWORKS = {
    "mpesa": mpesa_codes.TABLES,
    "airtel-money": airtel_money_codes.TABLES,
    "tigo-pesa": tigo_pesa_codes.TABLES,
    "halopesa": halopesa_codes.TABLES,
    "clickpesa": clickpesa_codes.TABLES | {"event": clickpesa_callbacks.EVENTS},
    "azampay": azampay_codes.TABLES,
}


def rows_of(tables: dict[str, Table]) -> list[str]:
    """One for each meaning: the codes that have it in the same places stand together."""
    places: dict[tuple[str, CodeMeaning], list[str]] = {}
    for place, table in tables.items():
        for code, meaning in table.items():
            places.setdefault((code, meaning), []).append(place)
    codes: dict[tuple[str, CodeMeaning], list[str]] = {}
    for (code, meaning), where in places.items():
        codes.setdefault((", ".join(where), meaning), []).append(f"`{code}`")
    return [
        f"| {', '.join(names)} | {where} | {meaning.says} | {meaning.in_words} | {meaning.source} |"
        for (where, meaning), names in codes.items()
    ]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_page_has_every_code_with_its_meaning_and_its_source(network: str) -> None:
    [written] = (PAGES / f"{network}.md").read_text().split("\n## What each code means\n")[1:]
    rows = [line for line in written.split("\n## ")[0].splitlines() if line.startswith("| `")]
    assert rows == rows_of(NETWORKS[network])


def test_each_network_has_a_page_and_no_other() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(NETWORKS)
