"""The command line of evaluation: python -m eval run|report|results|tune|compare|list|presets|fetch|..."""

import sys

from eval.cli import runs, sources, tables  # noqa: F401  # they add their commands
from eval.cli.output import COMMANDS
from eval.runs.evaluator import Evaluator
from eval.settings import EvalSettings
from memory.cli.program import run_command


def main(argv: list[str] | None = None) -> int:
    """Run one command; return 0 on success, 1 on failure, 2 for wrong arguments, 130 if interrupted."""
    arguments = COMMANDS.parser.parse_args(argv)
    return run_command(
        lambda: arguments.command(arguments, Evaluator(EvalSettings())),
        "Interrupted. Run the same command again to continue; answers so far are kept.",
    )


if __name__ == "__main__":
    sys.exit(main())
