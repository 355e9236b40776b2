"""Torture Memoir with kills, full disks, flipped letters, random input, many processes and long use.

    python -m tests.torture [kill|flips|fuzz-import|fuzz-ask|disk|crowd|soak|windows ...] [--minutes 30] [--seed n]

Every part prints one line for each kind of torture. Its figures of faults (lost, double, half, ...) must all be 0.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does, so that `support` is found
