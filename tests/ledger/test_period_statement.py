"""The statement of a period, by hand: what each line is in the books, its gross, fee and net, and which lines are in it."""

import itertools
import random
from datetime import UTC, datetime, timedelta

import pytest

from malipo import ids
from malipo.app.assemble import Service
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.period_statement import LineGroup, LinePayment, PeriodLine, PeriodSums
from malipo.ledger.statement import WalletLineKind
from malipo.ledger.store import period_statement, wallets
from tests.conftest import make_merchant

NOW = datetime(2026, 3, 10, 9, tzinfo=UTC)
C, P, R = WalletLineKind.COLLECTION, WalletLineKind.PAYOUT, WalletLineKind.PAYOUT_RETURNED
CREDIT, DEBIT = WalletLineKind.CORRECTION_CREDIT, WalletLineKind.CORRECTION_DEBIT
IN, OUT, BACK = "collection", "payout", "refund"


def _line(kind: WalletLineKind, net: int, payment: str | None = None, status: str = "COMPLETED") -> PeriodLine:
    """Its payment is of 1,000, with a fee of 30."""
    of = payment and LinePayment(
        status=status,
        amount=1000,
        fee=30,
        is_collection=payment == IN,
        phone="+255754000001",
        name="Asha",
        channel="MPESA",
        receipt=None,
        order_reference=None,
        refund_of="txn_1" if payment == BACK else None,
    )
    return PeriodLine(1, kind, net, 0, "txn_2", "MLP-2", NOW, of or None)


@pytest.mark.parametrize(
    ("line", "group", "gross", "fee", "set_aside"),
    [
        (_line(C, 970, IN), "COLLECTION", 1000, 30, 0),
        (_line(P, -1030, OUT), "PAYOUT", -1000, 30, 0),
        (_line(P, -1030, BACK), "REFUND", -1000, 30, 0),
        (_line(P, -1030, OUT, "PENDING"), "SET_ASIDE", 0, 0, -1030),
        (_line(P, -1030, OUT, "PROCESSING"), "SET_ASIDE", 0, 0, -1030),
        (_line(P, -1030, BACK, "PROCESSING"), "SET_ASIDE", 0, 0, -1030),
        (_line(P, -1030, OUT, "FAILED"), "NOT_PAID", 0, 0, -1030),
        (_line(P, -1030, OUT, "CANCELLED"), "NOT_PAID", 0, 0, -1030),
        (_line(P, -1030, BACK, "FAILED"), "NOT_PAID", 0, 0, -1030),
        (_line(R, 1030, OUT, "FAILED"), "NOT_PAID", 0, 0, 1030),
        (_line(R, 1030, BACK, "CANCELLED"), "NOT_PAID", 0, 0, 1030),
        (_line(WalletLineKind.TOP_UP, 5000), "TOP_UP", 5000, 0, 0),
        (_line(WalletLineKind.SETTLEMENT, -5000), "SETTLEMENT", -5000, 0, 0),
        # A collection that failed and was paid after all; one that was completed and taken back.
        (_line(CREDIT, 970, IN, "FAILED"), "CORRECTION", 1000, 30, 0),
        (_line(DEBIT, -970, IN), "CORRECTION", -1000, -30, 0),
        # A payout that failed and was paid after all; one that was completed and taken back.
        (_line(DEBIT, -1030, OUT, "FAILED"), "CORRECTION", -1000, 30, 0),
        (_line(CREDIT, 1030, OUT), "CORRECTION", 1000, -30, 0),
        # A debt that is collected in parts.
        (_line(DEBIT, -400, OUT, "FAILED"), "CORRECTION", -400, 0, 0),
        (_line(DEBIT, -630, OUT, "FAILED"), "CORRECTION", -630, 0, 0),
    ],
)
def test_what_a_line_is_in_the_books(line: PeriodLine, group: str, gross: int, fee: int, set_aside: int) -> None:
    assert (line.group, line.gross, line.fee, line.set_aside) == (group, gross, fee, set_aside)
    assert line.net == line.gross - line.fee + line.set_aside


def test_sums_keep_what_was_only_set_aside_apart() -> None:
    lines = [
        _balanced(1, C, 970, 970, IN),
        _balanced(2, P, -500, 470, OUT, "FAILED"),
        _balanced(3, R, 500, 970, OUT, "FAILED"),
        _balanced(4, P, -300, 670, OUT, "PROCESSING"),
    ]
    sums = PeriodSums(0)
    sums.add(lines)
    assert (sums.opening, sums.closing) == (0, 670)
    assert (sums.whole.gross, sums.whole.fee, sums.whole.set_aside, sums.whole.net) == (1000, 30, -300, 670)
    assert [(group, each.count, each.net) for group, each in sums.by_group()] == [
        (LineGroup.COLLECTION, 1, 970),
        (LineGroup.SET_ASIDE, 1, -300),
        (LineGroup.NOT_PAID, 2, 0),
    ]


def test_a_line_that_is_left_out_breaks_off_the_statement() -> None:
    with pytest.raises(AssertionError, match="leaves out"):
        PeriodSums(0).add([_balanced(1, C, 970, 970, IN), _balanced(3, C, 970, 2910, IN)])


def _balanced(
    number: int, kind: WalletLineKind, net: int, balance: int, payment: str, status: str = "COMPLETED"
) -> PeriodLine:
    line = _line(kind, net, payment, status)
    return PeriodLine(number, kind, net, balance, line.cause_id, line.reference, line.at, line.payment)


async def test_periods_share_no_line_and_leave_none_out_also_where_times_are_not_in_order(
    service: Service,
) -> None:
    """A process may wait for the wallet, or have another clock: a line has a higher number then, and an earlier time."""
    merchant = await make_merchant(service.queries.database)
    chance, at, times = random.Random(7), NOW, list[datetime]()
    for _ in range(80):
        at += timedelta(seconds=chance.choice([0, 0, 1, 40, 900]))
        times.append(at + timedelta(seconds=chance.randrange(-120, 120)))
    async with service.queries.database.begin() as tx:
        for each in times:
            held = await wallets.lock(tx, [merchant.id])
            moves = [Move(Account.BANK, Account.WALLET, 10)]
            await wallets.post(tx, held, [Posting(merchant.id, ids.mint("bok_", each), Step.BOOKING, moves)], now=each)
    assert times != sorted(times)

    async def find(first: datetime | None, last: datetime | None) -> tuple[int, int, int, int]:
        async with service.queries.database.snapshot() as connection:
            period = await period_statement.find(connection, merchant.id, first=first, last=last)
        pieces = period_statement.stream(service.queries.read_part, merchant.id, period)
        lines = [line async for piece in pieces for line in piece]
        sums = PeriodSums(period.opening)
        sums.add(lines)
        assert [line.number for line in lines] == list(range(period.after + 1, period.last + 1))
        return period.after, period.last, sums.opening, sums.closing

    moment = timedelta(microseconds=1)
    cuts = [NOW + timedelta(seconds=chance.randrange(-300, 16_000)) for _ in range(24)]
    for cut in (*cuts, *times[::6]):
        before, after = await find(None, cut - moment), await find(cut, None)
        assert before[1] == after[0] == max((n for n, at in enumerate(times, 1) if at < cut), default=0)
        assert before[3] == after[2] == 10 * before[1]
    edges = sorted(cuts)
    whole = [await find(None, edges[0] - moment)]
    whole += [await find(a, b - moment) for a, b in itertools.pairwise(edges)]
    whole += [await find(edges[-1], None)]
    for one, other in itertools.pairwise(whole):
        assert (one[1], one[3]) == (other[0], other[2])
    assert (whole[0][2], whole[-1][3]) == (0, 800)
