"""The statements of a simulated run: what the networks' book has, with remarks, with and without keys, with cents."""

from pathlib import Path

import pytest

from malipo.network_statements.adds_up import Chain
from malipo.network_statements.profile import built_in
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import StatementLine
from malipo.networks.connector import Type
from malipo.reconciliation.statements.choose_profile import best_profile
from malipo.table_files import rows
from malipo_simulator.statements.account import entries_of
from malipo_simulator.transaction import GatewayName
from simulation.reconciling.statement_files import GENERIC, PORTAL, WEEK, Layout, StatementFiles, channel_of, read_here
from simulation.statements import _OpenException, _sums
from tests.network_statements.test_simulated_statements import DAY, PAYMENTS, state_with

GATEWAYS = [each for each in GatewayName if each is not GatewayName.AZAMPAY]
SEEDS = range(12)
AMOUNTS = [amount for _, amount, _, _ in PAYMENTS]


@pytest.fixture(autouse=True)
def read_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a run of the simulation does."""
    monkeypatch.setattr(rows, "_read", read_here)


def _lines(files: StatementFiles, gateway: GatewayName, layout: Layout) -> list[StatementLine]:
    path = files.write(gateway, DAY, layout=layout)
    assert path is not None
    profile = best_profile(path, channel_of(gateway), built_in().values())
    assert profile is not None
    statement, chain = read_statement(path, profile), Chain()
    lines = [line for line in statement.lines if isinstance(line, StatementLine)]
    for line in lines:
        chain.add(line)
    assert chain.problems(statement.heading) == []
    return lines


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_every_layout_has_the_lines_of_the_book_to_the_cent(gateway: GatewayName, tmp_path: Path) -> None:
    state = state_with(gateway)
    entries = list(entries_of(state, gateway))
    for seed in SEEDS:
        files = StatementFiles(state, seed, tmp_path)
        moved = sum(each.amount for each in entries if each.kind != "fee")
        cents = moved * 100 - sum(files.charges().values())
        for layout in (PORTAL, GENERIC, WEEK):
            lines = _lines(files, gateway, layout)
            assert sorted(each.receipt for each in lines) == sorted(each.receipt for each in entries)
            assert sum(line.amount * 100 + line.cents for line in lines) == cents


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_portal_shows_our_key_on_all_payments_of_a_kind_or_on_none(gateway: GatewayName, tmp_path: Path) -> None:
    state, seen = state_with(gateway), set()
    is_clickpesa = gateway is GatewayName.CLICKPESA
    for seed in range(40):
        files = StatementFiles(state, seed, tmp_path)
        lines = _lines(files, gateway, PORTAL)
        for type_ in (Type.DISBURSEMENT,) if is_clickpesa else Type:
            of_type = [line for line in lines if abs(line.amount) in AMOUNTS and not line.linked]
            keys = {bool(line.key) for line in of_type if (line.amount > 0) == (type_ is Type.COLLECTION)}
            shows = files.shows_key(channel_of(gateway), type_)
            if (gateway, type_) != (GatewayName.HALOPESA, Type.DISBURSEMENT):  # ClickPesa pays those out.
                assert keys == {shows}
            seen.add((type_, shows))
    assert len(seen) == (2 if is_clickpesa else 4)


def test_what_is_missing_is_a_sum_of_what_is_named() -> None:
    assert _sums([]) == {0}
    assert _sums([_OpenException(1000), _OpenException(-400)]) == {0, 1000, -400, 600}
