"""Finds the smallest list of faults, and the fewest payments and links, with which a seed still fails."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from simulation.plan import Plan

Part = TypeVar("Part")


def shrink(plan: Plan, still_fails: Callable[[Plan], bool]) -> Plan:
    """Each candidate is run; those that fail in the same way are kept. Faults first: they say the most."""
    if plan.settlements is not None and still_fails(without := replace(plan, settlements=None)):
        plan = without
    faults = _fewest(plan.faults, lambda kept: still_fails(replace(plan, faults=tuple(kept))))
    plan = replace(plan, faults=tuple(faults))
    links = _fewest(plan.links, lambda kept: still_fails(replace(plan, links=tuple(kept))))
    plan = replace(plan, links=tuple(links))
    payments = _fewest(plan.payments, lambda kept: still_fails(replace(plan, payments=tuple(kept))))
    return replace(plan, payments=tuple(payments))


def _fewest(parts: Sequence[Part], still_fails: Callable[[Sequence[Part]], bool]) -> Sequence[Part]:
    """Leave out halves, then quarters, and so on down to single ones, as long as it still fails."""
    size = len(parts)
    while parts and size:
        size = max(size // 2, 1)
        at = 0
        while at < len(parts):
            kept = [*parts[:at], *parts[at + size :]]
            if still_fails(kept):
                parts = kept
            else:
                at += size
        if size == 1:
            return parts
    return parts
