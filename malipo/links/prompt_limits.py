"""How many prompts of pay pages may reach a number."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Tx
from malipo.errors import Refusal


class NewPrompt(NamedTuple):
    """A prompt that a press would send."""

    merchant_id: str
    link_id: str
    phone: str
    address: str | None  # of the client


async def refusals(tx: Tx, prompts: Sequence[NewPrompt], *, now: datetime) -> list[Refusal | None]:
    """Why each may not be sent; None: it may. The rows of their links are locked."""
    return [None for _ in prompts]
