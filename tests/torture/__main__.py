"""Run the named parts, or all, and print a line for each kind; the exit status is 1 if there was any fault."""

import os

# Before anything is imported: a process that has threads must not fork.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import (
    attack,
    crowd,
    demo,
    disk,
    encoder,
    flips,
    fuzz,
    hostile,
    io_faults,
    kill,
    servers,
    soak,
    upgrade,
    windows,
)
from tests.torture.outcome import Outcome

Part = Callable[[float, random.Random, Path], Iterator[Outcome]]

PARTS: dict[str, Part] = {
    "kill": kill.run,
    "disk": disk.run,
    "io": io_faults.run,
    "upgrade": upgrade.run,
    "encoder": encoder.run,
    "crowd": crowd.run,
    "flips": flips.run,
    "fuzz-import": fuzz.run_import,
    "fuzz-ask": fuzz.run_ask,
    "soak": soak.run,
    "servers": servers.run,
    "windows": windows.run,
    "demo": demo.run,
    "attack": attack.run,
    "hostile": hostile.run,
}
"""Those that fork come first: loading the weights starts threads."""


def main() -> int:
    """Torture; 0 if there was no fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none is named")
    parser.add_argument("--minutes", type=float, default=30, help="for all parts together")
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - PARTS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
    names = [name for name in PARTS if name in (arguments.parts or PARTS)]
    faults, started = 0, time.monotonic()
    print(f"seed {seed}, {arguments.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="memoir-torture-") as folder:
        os.environ["MEMOIR_HOME"] = folder
        for name in names:
            chance = random.Random(f"{seed} {name}")
            for outcome in PARTS[name](arguments.minutes * 60 / len(names), chance, Path(folder, name)):
                print(outcome, *outcome.examples, sep="\n    ", flush=True)
                faults += outcome.faults.total()
    print(f"{faults} faults in {(time.monotonic() - started) / 60:.1f} minutes")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
