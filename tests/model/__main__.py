"""Many lives: `python -m tests.model --seeds 100000 --from 0` prints findings with their seeds, made small."""

import argparse
import sys
import time
from collections import Counter

from tests.model.oracle import judge
from tests.model.run import live
from tests.model.scenario import Scenario, draw
from tests.model.shrink import shrink


def report(seed: int) -> str:
    """A failing life, as small as it gets."""
    found = judge(live(draw(seed)))
    rule = found[0].partition(":")[0]

    def fails(scenario: Scenario) -> bool:
        return any(each.startswith(f"{rule}:") for each in judge(live(scenario)))

    small = shrink(draw(seed), fails)
    trace = live(small)
    return "\n".join([f"seed {seed}", *(f"  FINDING {each}" for each in judge(trace)), str(small), str(trace)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--most", type=int, default=3, help="findings of one rule that are printed in full")
    given = parser.parse_args()
    began, failing, rules = time.monotonic(), 0, Counter[str]()
    for seed in range(given.first, given.first + given.seeds):
        found = judge(live(draw(seed)))
        failing += bool(found)
        new = {each.partition(":")[0] for each in found}
        if any(rules[rule] < given.most for rule in new):
            print(report(seed), flush=True)
        rules.update(new)
        done = seed - given.first + 1
        if done % 10_000 == 0:
            print(f"{done} lives, {failing} failing, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{given.seeds} lives from seed {given.first}: {failing} failing {dict(rules)}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
