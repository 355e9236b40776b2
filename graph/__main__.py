"""Run the command line: `python -m graph ask|learn|models`."""

import os
import sys

from graph.cli import main
from memory.cli.errors import INTERRUPTED

if __name__ == "__main__":
    status = main()
    if status == INTERRUPTED:
        # A thread may still be loading a model, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
