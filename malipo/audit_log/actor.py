"""Who acts, and from where, as the audit log has it. Pure."""

from dataclasses import dataclass

SYSTEM_NAME = "malipo"  # for acts of the service itself; no operator and no user of a machine has this name
_OPERATOR = "operator "
_KEY = "key "
# An operator, or a user of the machine, may have an email for a name. An email has no space.
_NOT_PEOPLE = (_OPERATOR, _KEY, "user ", "network ")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and from where."""

    name: str
    address: str
    os_user: str | None = None  # at the command line: the user of the machine

    @property
    def is_operator(self) -> bool:
        """Whether it is an operator with a name, and not only a user of the machine."""
        return is_operator(self.name)


def is_operator(name: str) -> bool:
    """Whether an actor's name, as it is stored, is that of an operator."""
    return name.startswith(_OPERATOR)


def is_person(name: str) -> bool:
    """Whether an actor's name, as it is stored, is the email of one of a merchant's people."""
    return "@" in name and not name.startswith(_NOT_PEOPLE)


def plain_name(name: str) -> str:
    """An actor's name, as it is stored, without the word that says that it is an operator."""
    return name.removeprefix(_OPERATOR)


def key_at(key_id: str, address: str) -> Actor:
    """The actor for an act of a merchant's API key."""
    return Actor(_KEY + key_id, address)


def api_key_of(name: str) -> str | None:
    """The id of the API key, if an actor's name, as it is stored, is that of one."""
    return name.removeprefix(_KEY) if name.startswith(_KEY) else None


def operator_at(name: str, address: str, *, os_user: str | None = None) -> Actor:
    """The actor for an operator, spelled the same at the command line and on the pages."""
    return Actor(_OPERATOR + name, address, os_user)
