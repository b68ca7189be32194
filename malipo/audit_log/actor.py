"""Who acts, and from where, as the audit log has it. Pure."""

from dataclasses import dataclass

_OPERATOR = "operator "


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and from where."""

    name: str
    address: str

    @property
    def is_operator(self) -> bool:
        """One with a name of their own, and not the user of a machine."""
        return self.name.startswith(_OPERATOR)


def operator_at(name: str, address: str) -> Actor:
    """The one spelling of an operator, at the command line and on the pages."""
    return Actor(_OPERATOR + name, address)
