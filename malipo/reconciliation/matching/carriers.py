"""Which connector's statement has a payment: that of the connector which carried it, and no other. Pure.

A channel's own network has a connector of the channel's name. An aggregator carries several channels, and pays out of
an account of its own: its payments are never in the statement of a channel's own network.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from malipo.network_statements.profile import StatementProfile
from malipo.networks.connector import Channel
from malipo.networks.routing import carried_by_each
from malipo.reconciliation.statements.statement_file import StatementFile


@cache
def aggregators() -> dict[str, tuple[Channel, ...]]:
    """The channels of each connector that carries several, with or without a layout of its statement."""
    carried = {
        name: tuple(dict.fromkeys(channel for channel, _ in routes)) for name, routes in carried_by_each().items()
    }
    return {name: channels for name, channels in carried.items() if len(channels) > 1}


def own_carrier(channel: str) -> str:
    """The connector of the channel's own network."""
    return channel.lower()


def carrier_named(account: str) -> str:
    """The aggregator of this name, however it is written ("AzamPay"); empty for any other account."""
    written = "".join(character for character in account.casefold() if character.isalnum())
    return written if written in aggregators() else ""


def carrier_of(file: StatementFile, profiles: Mapping[str, StatementProfile]) -> str:
    """The connector to whose account a file belongs: by its layout, or else by the account's name."""
    return carrier_by(file.profile, file.account, file.channel, profiles)


def carrier_by(layout: str, account: str, channel: str, profiles: Mapping[str, StatementProfile]) -> str:
    """The connector of the account from which a statement with this layout is; `channel` is that of its payments."""
    profile = profiles.get(layout)
    of_layout = "" if profile is None else profile.carrier
    return of_layout or carrier_named(account) or own_carrier(channel)


def channels_of(carrier: str, file: StatementFile) -> tuple[Channel, ...]:
    """The channels whose payments a file of this carrier has."""
    return aggregators().get(carrier, (file.channel,))


def carriers_of(files: Iterable[StatementFile], profiles: Mapping[str, StatementProfile]) -> list[str]:
    """The connectors of which there is any statement."""
    return sorted({carrier_of(file, profiles) for file in files})
