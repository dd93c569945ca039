"""Attack the library: thousands of hostile fits, files, commands and requests.

    python -m tests.attack --fits 2700 --sequences 3000 --files 10500 --commands 300

Each case is a number, so that any of them can be repeated: ``--only fits:123``. Cases run in a
process of their own, which may crash. The table at the end counts what they came to: fine results,
clear errors, and what is wrong, which is to be nothing.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.attack import blocks, commands, files, fits, labelling, sequences
from tests.attack.judge import CLEAR, FINE, WRONG, elapsed

ATTACKS: dict[str, tuple[Any, int]] = {
    "fits": (fits.attack, 2700),
    "parameters": (fits.attack, 2700),
    "sequences": (sequences.attack, 3000),
    "files": (files.attack, 10_500),
    "commands": (commands.attack, 300),
    "checkpoints": (blocks.attack_checkpoint, 600),
    "data": (blocks.attack_data, 300),
    "journals": (labelling.attack_journal, 1500),
    "requests": (labelling.attack_request, 3000),
}


def work(kind: str, first: int, last: int) -> None:
    """Run some cases, and tell of each before and after."""
    faulthandler.enable()
    function, _ = ATTACKS[kind]
    for seed in range(first, last):
        print(json.dumps([seed]), flush=True)
        name, outcome = function(kind, seed)
        print(json.dumps([seed, name, *outcome]), flush=True)


def cases(kind: str, n: int, first: int) -> Iterator[tuple[int, str, str, str]]:
    """Seed, name, kind and reason of all cases; a process that dies is replaced."""
    seed, last = first, first + n
    while seed < last:
        command = [sys.executable, "-m", "tests.attack", "--work", kind, str(seed), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                if len(found) == 1:
                    seed = found[0]
                else:
                    yield tuple(found)
                    seed = found[0] + 1
        if seed < last:
            yield seed, f"seed {seed}", WRONG, f"the process ended with {process.returncode}"
            seed += 1


def shape_of(reason: str) -> str:
    """The reason without its numbers, to count equal ones together."""
    return "".join("#" if char.isdigit() else char for char in reason)[:110]


def main() -> int:
    """Run the attack, and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, (_, number) in ATTACKS.items():
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", metavar="KIND:SEED", help="one case")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--clear", action="store_true", help="list the clear errors as well")
    options = parser.parse_args()
    if options.work:
        kind, first, last = options.work
        work(kind, int(first), int(last))
        return 0
    if options.only:
        kind, _, seed = options.only.partition(":")
        print(*ATTACKS[kind][0](kind, int(seed)), sep="\n")
        return 0
    rows, n_wrong = [], 0
    for kind in ATTACKS:
        began, counts, reasons = time.monotonic(), Counter(), Counter()
        for seed, name, outcome, reason in cases(kind, getattr(options, kind), options.first):
            counts[outcome] += 1
            reasons[outcome, shape_of(reason)] += 1
            if counts.total() % 250 == 0:
                print(f"{kind}: {dict(counts)}, {elapsed(began)}", file=sys.stderr, flush=True)
            if outcome == WRONG:
                print(f"WRONG {kind}:{seed} {name}: {reason}", flush=True)
        for (outcome, reason), number in reasons.most_common():
            if outcome == CLEAR and options.clear:
                print(f"{number:6} {reason}")
        n_wrong += counts[WRONG]
        rows.append([kind, sum(counts.values()), *(counts[one] for one in (FINE, CLEAR, WRONG))])
        print(f"{kind}: {dict(counts)}, {elapsed(began)}", flush=True)
    print("| attack | cases | fine | clear error | wrong |\n|---|---|---|---|---|")
    for row in rows:
        print("|", " | ".join(map(str, row)), "|")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
