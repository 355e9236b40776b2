"""Run the command line: `python -m graph ask|learn|bench|models`."""

import sys

from graph.cli import main

if __name__ == "__main__":
    sys.exit(main())
