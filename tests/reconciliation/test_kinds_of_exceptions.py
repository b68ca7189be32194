"""Which exception a line without a place is: by its kind, the payments that it fits, and whether it names one of ours."""

import pytest

from malipo.network_statements.statement_line import LineKind
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.match_statements import kind_of
from malipo.reconciliation.matching.store.unmatched_lines import UnmatchedLine

KEY, PHONE = "01M7R6ZFYFRCSNH7", "+255754000001"
# Of a line that fits no payment: what it is, and what it is if it names a key of ours or a customer.
FITS_NONE = {
    LineKind.MONEY: ("theirs_only", "theirs_only"),
    LineKind.BANK: ("theirs_only", "theirs_only"),
    LineKind.FEE: ("unknown_line", "theirs_only"),
    LineKind.SWEEP: ("unknown_line", "theirs_only"),
    LineKind.REVERSAL: ("unknown_line", "unknown_line"),
    LineKind.OTHER: ("unknown_line", "unknown_line"),
}
# Of any line: how many payments it fits, and whether the only one has another line.
FITS_SOME = {(1, False): "amount_differs", (1, True): "twice", (2, False): "twice"}


def line(
    kind: LineKind, *, key: str = "", phone: str = "", candidates: int = 0, is_taken: bool = False
) -> UnmatchedLine:
    return UnmatchedLine(
        line_id=1,
        channel=Channel.MPESA,
        account="",
        kind=kind,
        amount=1000,
        key=key,
        phone=phone,
        candidates=candidates,
        merchant_id=None,
        transaction_id=None,
        is_taken=is_taken,
        ledger_amount=0,
    )


def test_every_kind_has_a_row() -> None:
    assert set(FITS_NONE) == set(LineKind)


@pytest.mark.parametrize("kind", LineKind)
def test_a_line_that_fits_no_payment(kind: LineKind) -> None:
    plain, naming = FITS_NONE[kind]
    assert kind_of(line(kind)) == ExceptionKind(plain)
    assert kind_of(line(kind, key=KEY)) == kind_of(line(kind, phone=PHONE)) == ExceptionKind(naming)


@pytest.mark.parametrize("kind", LineKind)
@pytest.mark.parametrize(("candidates", "is_taken"), FITS_SOME)
def test_a_line_that_fits_some(kind: LineKind, candidates: int, is_taken: bool) -> None:
    found = kind_of(line(kind, key=KEY, candidates=candidates, is_taken=is_taken))
    assert found == ExceptionKind(FITS_SOME[candidates, is_taken])
