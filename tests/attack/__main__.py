"""Attack the library: thousands of hostile fits, files, commands and requests.

    python -m tests.attack --fits 2700 --sequences 3000 --files 10500 --commands 300
    python -m tests.attack --processor Haswell --busy 2

Each case is a number, so that any of them can be repeated: ``--only fits:123``. Cases run in a
process of their own, which may crash. The table at the end counts what they came to: fine results,
clear errors, and what is wrong, which is to be nothing. ``--processor`` rounds numbers as another
processor does, and ``--busy`` lets other processes count all the while.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.attack import (
    answers,
    batches,
    blocks,
    commands,
    files,
    fits,
    labelling,
    sequences,
    tables,
)
from tests.attack.judge import CLEAR, FINE, WRONG, elapsed

ATTACKS: dict[str, tuple[Any, int]] = {
    "fits": (fits.attack, 2700),
    "parameters": (fits.attack, 2700),
    "sequences": (sequences.attack, 3000),
    "batches": (batches.attack, 1000),
    "tables": (tables.attack, 2000),
    "answers": (answers.attack, 1000),
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


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Let n processes take what they can of the processors."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def cases(
    kind: str, n: int, first: int, processor: str | None = None
) -> Iterator[tuple[int, str, str, str]]:
    """Seed, name, kind and reason of all cases; a process that dies is replaced."""
    seed, last, env = first, first + n, dict(os.environ)
    if processor is not None:  # read when OpenBLAS is loaded; compiled code uses no other processor
        env |= {"OPENBLAS_CORETYPE": processor, "NUMBA_CPU_NAME": "generic"}
    while seed < last:
        command = [sys.executable, "-m", "tests.attack", "--work", kind, str(seed), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
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
    parser.add_argument("--processor", metavar="NAME", help="as OPENBLAS_CORETYPE: Haswell")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes that count")
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
    with busy(options.busy):
        return run(options)


def run(options: argparse.Namespace) -> int:
    """Run all cases, and print what they came to."""
    rows, n_wrong = [], 0
    for kind in ATTACKS:
        began, counts, reasons = time.monotonic(), Counter(), Counter()
        n, given = getattr(options, kind), (options.first, options.processor)
        for seed, name, outcome, reason in cases(kind, n, *given):
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
