"""What an observer sees of one payment's life: what was sent, queried, answered and reported, and what moved. The oracle reads only this."""

from enum import StrEnum

import msgspec

from malipo.ledger.accounts import Account, Move
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status
from tests.model.network import Network
from tests.model.scenario import Scenario


class Way(StrEnum):
    REPLY = "reply"
    QUERY = "query"
    CALLBACK = "callback"


class Sent(msgspec.Struct, frozen=True):
    at: float
    nth: int
    is_unsent: bool  # provably nothing left us


class Asked(msgspec.Struct, frozen=True):
    at: float
    status: Status


class MerchantNotice(msgspec.Struct, frozen=True):
    """The merchant was told a status."""

    at: float
    status: Status
    failure_code: str | None
    by: str  # a network's word, or who else


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was heard, and what came of it."""

    at: float
    way: Way
    verdict: Verdict
    is_right_amount: bool  # or none is expected
    is_proven: bool  # a reply, an answer to a question, or signed
    is_listed: bool
    nth: int = 0  # which sending it is the reply to
    before: Status
    after: Status
    believed_before: bool | None  # whether we believed that it was paid, if it had ended
    is_contradiction: bool
    is_shown: bool  # to operators, afterwards


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    by: str
    says_paid: bool
    wallet: int  # by how much more it then holds
    owed: int  # by how much more it then owes
    reported_amount: int | None  # the amount that the merchant is told, if anything is
    losses: int  # what the house then bears, as a negative amount
    available: int | None = None  # what the wallet could give


Entry = Sent | Asked | MerchantNotice | Word | Corrected


class Trace:
    """`wallet` is what the merchant had before."""

    def __init__(self, scenario: Scenario, network: Network, wallet: int) -> None:
        self.scenario = scenario
        self.network = network
        self.entries: list[Entry] = []
        self.balances = dict.fromkeys(Account, 0)
        self.first_wallet = wallet
        self.ended_at: float | None = None
        self.over_at = 0.0
        # as it is left at the end
        self.status = Status.PENDING
        self.failure_code: str | None = None
        self.is_queued = True
        self.due_at: float | None = 0.0
        self.is_shown = False
        self.says_paid: bool | None = None  # by the last correction, if there is one
        self.owed = 0
        self.due = 0
        self.is_case_open = False

    def book(self, moves: list[Move]) -> None:
        for move in moves:
            self.balances[move.source] -= move.amount
            self.balances[move.target] += move.amount

    def words(self) -> list[Word]:
        return [each for each in self.entries if isinstance(each, Word)]

    @property
    def believes_paid(self) -> bool:
        """What the books of the house say at the end."""
        return self.says_paid if self.says_paid is not None else self.status is Status.COMPLETED

    def __str__(self) -> str:
        return "\n".join(f"  {each.at:>10.1f}  {_plain(each)}" for each in self.entries)


def _plain(entry: Entry) -> str:
    fields = {name: value for name, value in msgspec.structs.asdict(entry).items() if name != "at"}
    return f"{type(entry).__name__.lower():<10}" + " ".join(f"{name}={value}" for name, value in fields.items())
