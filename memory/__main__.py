"""Run the command line: `python -m memory import|list|show|search|forget|export|backup|restore|user|...`."""

import sys

from memory.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
