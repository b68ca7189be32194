"""A message as it is stored, and to whom it goes. Pure."""

from dataclasses import dataclass
from datetime import datetime

Facts = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class MessageRecipient:
    account_id: str  # of a person or an operator
    address: str
    name: str
    language: str | None  # None: that of the installation


@dataclass(frozen=True, slots=True)
class Message:
    """A message that a worker has claimed."""

    id: str
    kind: str  # a kind that a newer version has written is no kind here
    merchant_id: str | None
    recipient: MessageRecipient
    facts: Facts
    count: int
    amount: int
    created_at: datetime
    expires_at: datetime
    message_id: str  # its Message-ID, without the brackets: the same for every attempt
    attempts: int
