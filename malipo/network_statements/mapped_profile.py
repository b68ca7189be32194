"""A profile of what a person said about the columns of a file. Pure."""

import re

from malipo.network_statements.guess_profile import Guess
from malipo.network_statements.profile import Field, Profile, built_in
from malipo.networks.connector import Channel

_NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9-]{1,40}")


def is_free_name(name: str) -> bool:
    """Whether a layout may be called so: not as one of malipo's own."""
    return _NAME.fullmatch(name) is not None and name not in built_in()


def profile_of(found: Guess, channel: Channel, *, name: str, carrier: str = "") -> Profile:
    """The carrier is the aggregator whose account it is of; its file has the payments of every channel."""
    assert found.sign is not None
    assert found.time_format is not None
    return Profile(
        name=name,
        title=f"Saved for {carrier or channel}",
        channels=tuple(Channel) if carrier else (channel,),
        sign=found.sign,
        columns={field: (found.header[number],) for field, number in found.columns.items()},
        time_formats=(found.time_format,),
        completed=built_in()["generic"].completed if Field.STATUS in found.columns else (),
        money_in=found.money_in,
        money_out=found.money_out,
        kinds=built_in()["generic"].kinds,
        carrier=carrier,
    )
