"""Every row of the simulator's table of digits on every network, and the end that a payment there comes to. Data, by hand."""

from typing import NamedTuple

import pytest

WALLET = 1_000_000
BILLER = "DEMO"  # what begins every reference at the simulated Tigo Pesa
FEE = 30
NOT_FOUND_SECONDS = 2
# What has failed and may yet be paid is asked about again once, when the row that takes its word back has done so.
FOLLOW_UP_SECONDS = 6
UNSETTLED_SECONDS = 6
# Three queries at once, and then one a second: three times "not found" arrives long before it may count.
POLL_SECONDS = "0,0,0,1,0,0,1,0,0,1"

# What each row must come to: the status, and for FAILED our word for why; `open` is PROCESSING for good, and shown to
# the operator. Where networks differ, the cell of one stands for itself: what M-Pesa's query calls Failed has no reason,
# and only its callback (or the reply, of a synchronous application) knows one. Tigo Pesa has no query for payouts, HaloPesa
# none for collections; HaloPesa's payouts go through ClickPesa, whose "not found" is no word of a payment. Nor is Tigo
# Pesa's, until an operator with a contract says which of its codes means that.
TABLE = """
    digits  type          M-Pesa async                M-Pesa sync                 Airtel Money                Tigo Pesa                   HaloPesa
    other   COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    100     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    101     COLLECTION    FAILED:declined             FAILED:declined             FAILED:declined             FAILED:declined             FAILED:declined
    102     COLLECTION    FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds
    103     COLLECTION    FAILED:expired              FAILED:expired              FAILED:expired              FAILED:expired              FAILED:expired
    104     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    105     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   open
    106     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    107     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    108     COLLECTION    FAILED:not_received         FAILED:not_received         FAILED:not_received         open                        open
    109     COLLECTION    open                        open                        open                        open                        open
    110     COLLECTION    FAILED:declined             FAILED:declined             FAILED:rejected             FAILED:rejected             FAILED:rejected
    113     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    other   DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    100     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    101     DISBURSEMENT  FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient
    102     DISBURSEMENT  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable
    103     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    104     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    105     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    106     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    107     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    108     DISBURSEMENT  open:not_found              open:not_found              open:not_found              open:unheard                open
    109     DISBURSEMENT  open                        open                        open                        open                        open
    110     DISBURSEMENT  FAILED:rejected             FAILED:rejected             FAILED:rejected             FAILED:invalid_recipient    FAILED:rejected
    113     DISBURSEMENT  FAILED:rejected             FAILED:rejected             FAILED:rejected             FAILED:invalid_recipient    FAILED:rejected
"""
# Without callbacks it is unknown why M-Pesa's query says Failed, and Tigo Pesa's Declined.
WITHOUT_CALLBACKS = {
    ("M-Pesa async", "COLLECTION", "102"): "FAILED:rejected",
    ("M-Pesa async", "COLLECTION", "110"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "101"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "102"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "103"): "FAILED:rejected",
}
# What the network said beyond our code, by type and digits: of all that it is on, or of one network.
DETAILS = {
    ("DISBURSEMENT", "101", "Tigo Pesa"): "not_registered",
    ("DISBURSEMENT", "101", "HaloPesa"): "not_registered",  # by ClickPesa
    ("DISBURSEMENT", "102", None): "float_too_low",
    ("DISBURSEMENT", "110", "Tigo Pesa"): "barred",
    ("DISBURSEMENT", "113", "Tigo Pesa"): "barred",
}
# What moved, and what nobody but the network's statement will tell.
UNHEARD = {
    ("Tigo Pesa", "DISBURSEMENT", "104"),
    ("Tigo Pesa", "DISBURSEMENT", "105"),
    ("Tigo Pesa", "DISBURSEMENT", "107"),
    ("HaloPesa", "COLLECTION", "105"),
}
NETWORKS = ("M-Pesa async", "M-Pesa sync", "Airtel Money", "Tigo Pesa", "HaloPesa")
CHANNELS = {
    "M-Pesa async": "MPESA",
    "M-Pesa sync": "MPESA",
    "Airtel Money": "AIRTEL_MONEY",
    "Tigo Pesa": "TIGO_PESA",
    "HaloPesa": "HALOPESA",
}
PREFIXES = {
    "M-Pesa async": "+255754",
    "M-Pesa sync": "+255765",
    "Airtel Money": "+255684",
    "Tigo Pesa": "+255714",
    "HaloPesa": "+255624",
}


class Cell(NamedTuple):
    network: str
    type: str
    digits: str
    has_callbacks: bool

    @property
    def id(self) -> str:
        return (
            f"{self.network}-{self.type.lower()}-{self.digits}-{'callbacks' if self.has_callbacks else 'only queries'}"
        )

    @property
    def phone(self) -> str:
        last = "001" if self.digits == "other" else self.digits
        return f"{PREFIXES[self.network]}{'000' if self.type == 'COLLECTION' else '111'}{last}"

    @property
    def detail(self) -> str | None:
        of_all = DETAILS.get((self.type, self.digits, None))
        return DETAILS.get((self.type, self.digits, self.network), of_all)

    @property
    def is_contradicted(self) -> bool:
        """PageRow FAILED, and then SUCCESS: by a callback, or by the question that follows every payout that failed."""
        if self.type == "DISBURSEMENT":
            return self.digits == "110" and self.network != "Tigo Pesa"
        return self.digits == "110" and self.has_callbacks

    @property
    def is_credited(self) -> bool:
        """Automatically. HaloPesa signs nothing, and cannot be queried about collections: there operators decide."""
        return self.is_contradicted and self.type == "COLLECTION" and self.network != "HaloPesa"

    @property
    def is_unheard(self) -> bool:
        """The network has it in its book, and we have not."""
        late = self.digits == "110" and not self.is_contradicted
        return late or (self.network, self.type, self.digits) in UNHEARD

    @property
    def is_resent(self) -> bool:
        refuses_twice = self.network not in ("Tigo Pesa", "HaloPesa")
        return refuses_twice and (self.type, self.digits) == ("DISBURSEMENT", "108")


def _expected() -> dict[Cell, str]:
    _, *rows = (line.split() for line in TABLE.strip().splitlines())
    return {
        Cell(network, type_, digits, has_callbacks): cell
        if has_callbacks
        else WITHOUT_CALLBACKS.get((network, type_, digits), cell)
        for digits, type_, *cells in rows
        for network, cell in zip(NETWORKS, cells, strict=True)
        for has_callbacks in (True, False)
        # A payment without a query and without a callback stays open.
        if has_callbacks or (network, type_) != ("HaloPesa", "COLLECTION")
    }


EXPECTED = _expected()
CELLS = [pytest.param(cell, id=cell.id) for cell in EXPECTED]
AMOUNTS = {cell: 1000 + number for number, cell in enumerate(EXPECTED)}
