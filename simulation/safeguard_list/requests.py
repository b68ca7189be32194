"""Requests of merchants: one wish is one payment, and no wallet pays what it does not have."""

from malipo.db import group_commit
from malipo.payments import initiate, transaction
from malipo.payments.transaction import Cause, Status
from simulation.safeguard_list.remove_safeguard import InFunction, InTable, Safeguard

_KEY_LOOKED_UP = InFunction(initiate._Decision.on, "if key is not None and key in self._used:", "if False:")
_BALANCE_CHECKED = InFunction(initiate._Decision._open, "if not wallet.can_spend(posting.moves):", "if False:")
# The reference is made of the same key.
NETWORK_KEY_IS_UNIQUE = (
    "ALTER TABLE transactions DROP CONSTRAINT transactions_network_key_is_unique",
    "ALTER TABLE transactions DROP CONSTRAINT transactions_reference_is_unique",
)
_WALLET_CHECKS = ("wallets_available_is_never_negative", "moves_balance_after_check")
_WALLET_IS_NOT_NEGATIVE = (
    f"ALTER TABLE wallets DROP CONSTRAINT {_WALLET_CHECKS[0]}",
    f"ALTER TABLE moves DROP CONSTRAINT {_WALLET_CHECKS[1]}",
)
_CANCEL_BEFORE_CLAIM = InTable(transaction.TRANSITIONS, (Status.PROCESSING, Cause.WITHDRAWN), Status.CANCELLED)
_CANCELLED_CHECK = "transactions_processing_has_a_time"
_CANCELLED_WAS_NOT_PROCESSING = f"ALTER TABLE transactions DROP CONSTRAINT {_CANCELLED_CHECK}"

SAFEGUARDS = (
    Safeguard(
        "key-looked-up",
        "A request that is repeated under its Idempotency-Key is one payment.",
        (_KEY_LOOKED_UP,),
        note="covered by network-key-unique: the network key is made of the Idempotency-Key",
    ),
    Safeguard(
        "key-unique",
        "Two requests with one Idempotency-Key at once: the second waits for the first.",
        (),
        ("ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey",),
        note="covered by network-key-unique",
    ),
    Safeguard(
        "network-key-unique",
        "No two payments have the same key at a network.",
        (),
        NETWORK_KEY_IS_UNIQUE,
        note="covered by key-looked-up",
    ),
    Safeguard(
        "key-looked-up+network-key-unique",
        "Both together: one wish of a merchant is one payment.",
        (_KEY_LOOKED_UP,),
        NETWORK_KEY_IS_UNIQUE,
    ),
    Safeguard(
        "in-doubt-flag",
        "A batch whose COMMIT was not confirmed looks first for what it has written.",
        (
            InFunction(
                group_commit.GroupCommit._try_commit,
                "again = any(caller.in_doubt for caller in callers)",
                "again = False",
            ),
        ),
        note="covered: requests here have an Idempotency-Key, answers an id, and claims are queried after the lease",
    ),
    Safeguard("balance-checked", "A payout that the wallet cannot pay is refused.", (_BALANCE_CHECKED,)),
    Safeguard(
        "wallet-never-negative",
        "The database keeps no wallet below zero.",
        (),
        _WALLET_IS_NOT_NEGATIVE,
        note="covered by balance-checked",
        checks=_WALLET_CHECKS,
    ),
    Safeguard(
        "balance-checked+wallet-never-negative",
        "Both together: no wallet pays more than it has.",
        (_BALANCE_CHECKED,),
        _WALLET_IS_NOT_NEGATIVE,
        checks=_WALLET_CHECKS,
    ),
    Safeguard("cancel-before-claim", "Only what no worker has claimed can be cancelled.", (_CANCEL_BEFORE_CLAIM,)),
    Safeguard(
        "cancelled-was-not-processing",
        "The database keeps no payment that was cancelled after a worker had claimed it.",
        (),
        (_CANCELLED_WAS_NOT_PROCESSING,),
        note="covered by cancel-before-claim",
        checks=(_CANCELLED_CHECK,),
    ),
    Safeguard(
        "cancel-before-claim+cancelled-was-not-processing",
        "Both together: what a merchant was told is cancelled is not paid.",
        (_CANCEL_BEFORE_CLAIM,),
        (_CANCELLED_WAS_NOT_PROCESSING,),
    ),
)
