"""The switches: the speed of time, and the faults of each gateway.

They are for tests. No network has them, so a restart resets them.
"""

import random
from typing import Any, TypeVar

import msgspec

from malipo_simulator.switches import KINDS, Speed, Switches
from malipo_simulator.transaction import GatewayName

Some = TypeVar("Some", bound=Switches)


class BadSwitches(Exception):  # noqa: N818
    """A patch that cannot be applied; each problem names its switch."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))


class Control:
    def __init__(self, speed: float = 1.0) -> None:
        self._first_speed = speed
        self.reset()

    def reset(self) -> None:
        self.speed = self._first_speed
        self.seed: int | None = None
        self.random = random.Random()  # noqa: S311 - it decides mishaps, not secrets.
        self.switches: dict[GatewayName, Switches] = {name: kind() for name, kind in KINDS.items()}
        self._by_kind = {type(each): each for each in self.switches.values()}

    def of(self, kind: type[Some]) -> Some:
        """The switches of the one gateway that has these."""
        found = self._by_kind[kind]
        assert isinstance(found, kind)
        return found

    def happens(self, share: float) -> bool:
        return share > 0 and self.random.random() < share

    def shown(self) -> dict[str, Any]:
        channels = {name.value: msgspec.to_builtins(each) for name, each in self.switches.items()}
        return {"speed": self.speed, "seed": self.seed, "channels": channels}

    def change(self, patch: Any) -> None:
        """All of it, or nothing and BadSwitches."""
        change = _Change(self)
        change.read(patch)
        if change.problems:
            raise BadSwitches(change.problems)
        for switches, attribute, value in change.found:
            setattr(switches, attribute, value)
        if change.speed is not None:
            self.speed = change.speed
        if change.seed is not None:
            self.seed = change.seed
            self.random = random.Random(change.seed)  # noqa: S311


class _Change:
    """A patch as it is read: what to set, and what is wrong with it."""

    def __init__(self, control: Control) -> None:
        self._switches = control.switches
        self.problems: list[str] = []
        self.found: list[tuple[Switches, str, Any]] = []
        self.speed: float | None = None
        self.seed: int | None = None

    def read(self, patch: Any) -> None:
        if not isinstance(patch, dict):
            self.problems.append("the body must be a JSON object")
            return
        for name, value in patch.items():
            if name == "speed":
                self.speed = self._value(name, value, Speed)
            elif name == "seed":
                self.seed = self._value(name, value, int)
            elif name == "all" and isinstance(value, dict):
                self._read_all(value)
            elif name == "channels" and isinstance(value, dict):
                self._read_channels(value)
            else:
                self.problems.append(f"{name}: not a switch (there are speed, seed, all and channels)")

    def _read_all(self, patch: dict[str, Any]) -> None:
        """A switch for every gateway that has it."""
        for name, value in patch.items():
            having = [each for each in self._switches.values() if name in _fields(each)]
            if not having:
                self.problems.append(f"all.{name}: not a switch")
            for switches in having:
                self._read_switch(f"all.{name}", switches, name, value)

    def _read_channels(self, patch: dict[str, Any]) -> None:
        for gateway, changes in patch.items():
            switches = self._switches.get(gateway)  # type: ignore[call-overload]
            if switches is None:
                self.problems.append(f"channels.{gateway}: not a channel (there are {', '.join(self._switches)})")
            elif not isinstance(changes, dict):
                self.problems.append(f"channels.{gateway}: must be an object")
            else:
                for name, value in changes.items():
                    self._read_switch(f"channels.{gateway}.{name}", switches, name, value)

    def _read_switch(self, path: str, switches: Switches, name: str, value: Any) -> None:
        field = _fields(switches).get(name)
        if field is None:
            self.problems.append(f"{path}: not a switch")
            return
        read = self._value(path, value, field.type)
        if read is not msgspec.UNSET:
            self.found.append((switches, field.name, read))

    def _value(self, path: str, value: Any, type_: Any) -> Any:
        """UNSET if it is a bad one: null is a good one for some."""
        try:
            return msgspec.convert(value, type_)
        except msgspec.ValidationError as error:
            self.problems.append(f"{path}: {str(error)[:1].lower()}{str(error)[1:]}")
            return msgspec.UNSET


def _fields(switches: Switches) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(switches)}
