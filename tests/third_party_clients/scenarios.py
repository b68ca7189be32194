"""What every library is put through, what it ought to understand, and what must really have moved."""

from typing import NamedTuple

from tests.third_party_clients.client_library import Library

AMOUNT = 1500
_CHARGED, _PAID_OUT = [("charged", AMOUNT)], [("paid", AMOUNT)]


class Scene(NamedTuple):
    steps: tuple[str, ...]
    right: tuple[str, ...]  # what a library ought to understand of each step
    moved: list[tuple[str, int]]
    digits: str = "345"  # what the phone does
    has_wrong_credentials: bool = False


# A library with one call that pays and polls until it knows has scenes of its own.
SCENES = {
    "approved": Scene(("collect", "query"), ("accepted", "paid"), _CHARGED),
    "declined": Scene(("collect", "query"), ("accepted", "failed"), [], "101"),
    "balance too low": Scene(("collect", "query"), ("accepted", "failed"), [], "102"),
    "prompt expires": Scene(("collect", "query"), ("accepted", "failed"), [], "103"),
    "unknown reference": Scene(("query",), ("not found",), []),
    "same reference twice": Scene(("collect", "collect"), ("accepted", "duplicate"), _CHARGED),
    "reply lost": Scene(("collect", "query"), ("unknown", "paid"), _CHARGED, "104"),
    "wrong credentials": Scene(("collect",), ("not let in",), [], has_wrong_credentials=True),
    "paid out": Scene(("disburse", "query_payout"), ("accepted", "paid"), _PAID_OUT),
    "payee not registered": Scene(("disburse",), ("refused",), [], "101"),
    "merchant float too low": Scene(("disburse",), ("refused",), [], "102"),
    "same payout twice": Scene(("disburse", "disburse"), ("accepted", "duplicate"), _PAID_OUT),
    "pays: approved": Scene(("pay",), ("paid",), _CHARGED),
    "pays: declined": Scene(("pay",), ("failed",), [], "101"),
    "pays: balance too low": Scene(("pay",), ("failed",), [], "102"),
    "pays: reply lost": Scene(("pay",), ("unknown",), _CHARGED, "104"),
    "pays: wrong credentials": Scene(("pay",), ("not let in",), [], has_wrong_credentials=True),
}


def steps_of(library: Library, scene: Scene) -> tuple[str, ...]:
    """Those that the library has. A library that cannot ask is still asked to collect."""
    return tuple(step for step in scene.steps if step in library.can)


def right_of(library: Library, scene: Scene) -> tuple[str, ...]:
    words = tuple(word for step, word in zip(scene.steps, scene.right, strict=True) if step in library.can)
    # Airtel's reply to a payout is final.
    is_final = library.channel == "AIRTEL_MONEY" and scene.steps[0] == "disburse"
    return tuple("paid" if is_final and word == "accepted" else word for word in words)


def scenes_of(library: Library) -> list[str]:
    return [name for name, scene in SCENES.items() if scene.steps[0] in library.can]
