"""The wallet and its statement; the channels; the names of recipients."""

from __future__ import annotations

import builtins

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import Channel, ChannelName, Recipient, Wallet, WalletEntry
from malipo_client.request import Page, Request, many, one, text
from malipo_client.resources.pages import by_number

_ENTRIES = "/v1/wallet/entries"


class Wallets(Resource[Mode]):
    @operation
    def get(self) -> Request[Wallet]:
        """What you own: available, and reserved for payouts under way."""
        return Request("GET", "/v1/wallet", one(Wallet, "wallet"))

    @listing
    def entries(
        self, *, from_: str | None = None, to: str | None = None, kind: str | None = None, page_size: int = 100
    ) -> Request[Page[WalletEntry]]:
        """The statement, the newest line first."""
        query = {"from": from_, "to": to, "kind": kind, "limit": page_size}
        return by_number(_ENTRIES, WalletEntry, "entries", query, is_seen=lambda entry, last: entry.line >= last.line)

    @operation
    def entries_csv(self, *, from_: str | None = None, to: str | None = None, kind: str | None = None) -> Request[str]:
        """The statement as a file, the oldest line first."""
        return Request("GET", _ENTRIES, text, query={"from": from_, "to": to, "kind": kind, "format": "csv"})


class Channels(Resource[Mode]):
    @operation
    def list(self, *, phone: str | None = None) -> Request[builtins.list[Channel]]:
        """The networks. With a phone number, the one that it probably belongs to is `suggested`."""
        return Request("GET", "/v1/channels", many(Channel, "channels"), query={"phone": phone})


class Recipients(Resource[Mode]):
    @operation
    def look_up(self, *, channel: ChannelName, phone: str) -> Request[Recipient]:
        """Whose number it is, before you pay. The key needs `recipients.lookup`."""
        body = {"channel": channel, "phone": phone}
        return Request("POST", "/v1/recipients/lookup", one(Recipient, "recipient"), body=body)
