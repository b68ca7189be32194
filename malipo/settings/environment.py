"""Reads the settings from the environment: `MALIPO_…` variables, each by the name of a field of `Settings`.

A name we do not know or a value we cannot read stops the start with a sentence that names it: a typing error in
a setting must never be a silent default. The settings are declared in `__init__.py`.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from malipo.settings import Settings, parsers, secret_files

PREFIX = "MALIPO_"
# What the README and the documentation let a merchant's developer export for requests, often in the same terminal.
OF_CLIENTS = {"MALIPO_URL", "MALIPO_API_KEY"}
# Former settings, and what to do instead.
RETIRED = {"MALIPO_OPERATOR": "is no longer a setting, because a name proves nothing: malipo operators login"}


class BadSettings(Exception):  # noqa: N818
    """One sentence for each setting that is wrong."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


def require(settings: Settings, *names: str) -> None:
    """Refuse to start, with one sentence for each, when a setting that is needed is missing."""
    missing = [
        f"{variable(name)} is needed and not set (see docs/settings.md)."
        for name in names
        if not getattr(settings, name)
    ]
    if missing:
        raise BadSettings(missing)


def require_to_serve(settings: Settings) -> None:
    """Refuse to start a service without the settings that it needs."""
    # Messages name their sender, and link to the pages.
    require(settings, "secret_key", *(("mail_sender", "public_url") if settings.smtp_url is not None else ()))


def variable(name: str) -> str:
    """The environment variable of a field."""
    return PREFIX + name.upper()


def is_secret(each: Field[Any]) -> bool:
    return bool(each.metadata["secret"])


def read(environment: Mapping[str, str]) -> Settings:
    """The settings that an environment asks for; BadSettings names everything wrong with it at once."""
    known = {variable(each.name): each for each in fields(Settings)}
    files = {name + secret_files.SUFFIX for name, each in known.items() if is_secret(each)}
    values: dict[str, Any] = {}
    wrong = [
        f"{name} {RETIRED.get(name, 'is not a setting of malipo (see docs/settings.md)')}."
        for name in sorted(environment)
        if name.startswith(PREFIX) and name not in known and name not in files and name not in OF_CLIENTS
    ]
    for name, each in known.items():
        try:
            text = secret_files.value_of(environment, name, is_secret=is_secret(each))
            if text is not None:
                values[each.name] = each.metadata["parse"](text)
        except ValueError as error:
            shown = f"; it is {environment[name]!r}" if each.metadata["is_shown"] else ""
            wrong.append(f"{name} {error}{shown}.")
    addresses = {
        name: values[each.name]
        for name, each in known.items()
        if each.metadata["parse"] is parsers.base_url and each.name in values
    }
    if not values.get("allow_http_networks"):
        wrong += [_unsafe(name) for name, value in addresses.items() if not parsers.is_safe_address(value)]
    if values.get("simulated"):
        wrong += [_not_simulated(name) for name, value in addresses.items() if not parsers.is_on_this_machine(value)]
    if values.get("receipt_log", "off") != "off" and values.get("state_dir") == "none":
        wrong.append(
            f"{variable('receipt_log')} needs a {variable('state_dir')}: checkpoints are kept there before they are "
            "published."
        )
    if wrong:
        raise BadSettings(wrong)
    return Settings(**values)


def _not_simulated(name: str) -> str:
    return (
        f"{name} is not on this machine, where the simulator is, and {variable('simulated')} tells everybody that no "
        "money is real: take one of them out."
    )


def _unsafe(name: str) -> str:
    return (
        f"{name} must begin with https://, or what is paid could be read and changed on the way. If it is reached over "
        f"a line that is safe by itself, such as a VPN: {variable('allow_http_networks')}=true."
    )
