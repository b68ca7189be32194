"""The networks' book: what moved for a payment, also where operators have matched a line with another one like it."""

from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.control import Control
from malipo_simulator.network import Network
from malipo_simulator.transaction import GatewayName, PaymentDecided, PaymentTaken, Transaction
from simulation.database import PaymentRow
from simulation.networks_book import Book, net

PHONE = "+255740005110"
FIRST, SECOND = "J0X2WR9HC3J7V7XT", "HGTCNAAKXPYXPAC8"


def network_of(*payouts: tuple[str, int]) -> Network:
    """Payouts to one phone, by their keys; each has a receipt that ends with its key."""
    network = Network(Control(), None, lambda: 0.0)
    for key, amount in payouts:
        transaction = Transaction(
            id=f"prompt-{key}",
            gateway=GatewayName.MPESA,
            channel="MPESA",
            kind=PaymentKind.DISBURSEMENT,
            phone=PHONE,
            amount=amount,
            reference=key,
            network_id=f"conversation-{key}",
            receipt=f"receipt-{key}",
            merchant="Duka",
            note="",
            taken_at=1.0,
            due_at=None,
            callbacks=0,
        )
        network.memory.apply(PaymentTaken(transaction))
        network.memory.apply(PaymentDecided(transaction.id, Outcome.SUCCESS, 2.0))
    return network


def book_of(*payouts: tuple[str, int]) -> Book:
    return Book(network_of(*payouts))


def row_of(key: str, *, line: str | None = None, merchant: str = "duka", amount: int = 1005) -> PaymentRow:
    """A payout; operators have matched it with the line of the payout that has that key."""
    return PaymentRow(
        id=f"txn-{key}",
        merchant_id=merchant,
        type="DISBURSEMENT",
        channel="MPESA",
        status="FAILED",
        amount=amount,
        phone=PHONE,
        key=key,
        floated=-amount,
        processing_at=1.0,
        ended_at=2.0,
        is_refund=False,
        receipt="" if line is None else f"receipt-{line}",
        is_adopted=line is not None,
        is_undone=False,
        is_borne=False,
    )


def moved(book: Book, *rows: PaymentRow) -> list[int]:
    return [net(book.of_row(row, rows)) for row in rows]


def test_a_payment_has_what_moved_under_its_key() -> None:
    assert moved(book_of((FIRST, 1005), (SECOND, 1005)), row_of(FIRST), row_of(SECOND)) == [1005, 1005]
    assert moved(book_of((FIRST, 1005)), row_of(FIRST), row_of(SECOND)) == [1005, 0]


def test_payments_whose_lines_were_exchanged_have_what_moved_for_both() -> None:
    book = book_of((FIRST, 1005), (SECOND, 1005))
    assert moved(book, row_of(FIRST), row_of(SECOND, line=FIRST)) == [1005, 1005]
    assert moved(book, row_of(FIRST, line=SECOND), row_of(SECOND, line=FIRST)) == [1005, 1005]


def test_a_line_that_another_payment_has_is_not_counted_twice() -> None:
    """Only one of them was paid, or the other is not like it."""
    assert moved(book_of((FIRST, 1005)), row_of(FIRST), row_of(SECOND, line=FIRST)) == [0, 1005]
    book = book_of((FIRST, 1005), (SECOND, 1005))
    assert moved(book, row_of(FIRST), row_of(SECOND, line=FIRST, merchant="hoteli")) == [0, 1005]
    assert moved(book, row_of(FIRST), row_of(SECOND, line=FIRST, amount=1006)) == [0, 1005]
