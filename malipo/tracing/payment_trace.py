"""The trace of a payment: its ids are derived from the transaction's id. Pure.

So every process knows them, whichever process created the payment and whenever, and no row stores them.
"""

import hashlib

_PURPOSE = b"malipo trace of "


def ids_of(transaction_id: str) -> tuple[int, int]:
    """The id of its trace, and of the first span in it. Spread evenly, so a sampler keeps as many as it is set to."""
    digest = hashlib.sha256(_PURPOSE + transaction_id.encode()).digest()
    # All zeros is no id. No transaction will ever meet that, and 1 is as good as any other.
    return int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1


def trace_id_of(transaction_id: str) -> str:
    """The id of a payment's trace, as it is written in the log, and looked for in a tracing system."""
    return f"{ids_of(transaction_id)[0]:032x}"
