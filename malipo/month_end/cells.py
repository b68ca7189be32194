"""What a cell of a file in the archive has. Pure."""

from malipo import clock

Cell = str | int


def money(amount: int | None, cents: int) -> Cell:
    if amount is None:
        return ""
    whole = amount * 100 + cents
    return amount if not cents else f"{'-' if whole < 0 else ''}{abs(whole) // 100}.{abs(whole) % 100:02}"


def cell(value: object) -> Cell:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | str():
            return value
        case bytes():
            return value.hex()
        case list():
            return "; ".join(map(str, value))
    return clock.iso(value) if hasattr(value, "tzinfo") else str(value)  # type: ignore[arg-type]
