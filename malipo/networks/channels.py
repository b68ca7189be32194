"""The channels: name and number prefixes of each. Pure.

Prefixes show the network that first assigned a number. Numbers are portable, so a prefix is a hint for a form, and
never a rule.
"""

from dataclasses import dataclass

from malipo.networks.connector import Channel


@dataclass(frozen=True, slots=True)
class ChannelProfile:
    name: str
    prefixes: tuple[str, ...]


PROFILES: dict[Channel, ChannelProfile] = {
    Channel.MPESA: ChannelProfile("M-Pesa", ("+25574", "+25575", "+25576", "+25579")),
    Channel.TIGO_PESA: ChannelProfile("Tigo Pesa (Mixx by Yas)", ("+25565", "+25567", "+25570", "+25571", "+25577")),
    Channel.AIRTEL_MONEY: ChannelProfile("Airtel Money", ("+25566", "+25568", "+25569", "+25578")),
    Channel.HALOPESA: ChannelProfile("HaloPesa", ("+25561", "+25562", "+25563")),
}


def channel_of(phone: str) -> Channel | None:
    """The channel of the network that first assigned a number, if its prefix is known."""
    return next((channel for channel, profile in PROFILES.items() if phone.startswith(profile.prefixes)), None)
