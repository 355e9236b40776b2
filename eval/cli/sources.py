"""Download, compile and generate benchmark files, and train models on them."""

import json
from pathlib import Path
from types import ModuleType

from eval import benchmarks
from eval.benchmarks.dialsim.generation import recipe as dialsim
from eval.benchmarks.longmemeval import histories
from eval.benchmarks.longmemeval.generation import recipe as longmemeval
from eval.benchmarks.madial.generation import recipe as madial
from eval.benchmarks.perltqa import training
from eval.benchmarks.perltqa.generation import recipe as perltqa
from eval.cli.output import COMMANDS, DATA, JSON, progress_bars, show
from eval.fetching.fetch import SOURCES, fetch
from eval.making.generation import Generation, read_prompts
from eval.reporting.render import fill_in
from eval.runs.evaluator import Evaluator
from graph.models.registry import chat_model
from memory.cli.program import Argument, Arguments, argument, flag, number, path, print_error
from memory.errors import MemoirError

SHARES = ",".join(f"{source}={share}" for source, share in histories.SHARES.items())

SEED = argument("--seed", "seed of the random choices", type=int, default=0)


@COMMANDS.add("fetch", argument("benchmark", choices=SOURCES))
def fetch_files(arguments: Arguments, evaluator: Evaluator) -> None:
    """Download a benchmark's official files."""
    folder = evaluator.settings.home / "benchmarks" / arguments.benchmark
    with progress_bars("B", unit_scale=True) as watch:
        paths = fetch(arguments.benchmark, folder, watch)
    show(arguments, {"files": paths}, "\n".join(map(str, paths)))


# --- LongMemEval's histories


@COMMANDS.add(
    "compile",
    argument("questions", "a LongMemEval file; the oracle file is enough", type=Path),
    argument("file", "the file to write, in the same format", type=Path),
    argument(
        "--pool", "sessions in any format that is imported", action="append", required=True, metavar="[SOURCE=]FILE"
    ),
    number("--fillers", "sessions beside the evidence", required=True),
    number("--characters", "most characters of a history", default=0),
    argument("--shares", f"the share of each source; default: {SHARES}", default=SHARES, metavar="SOURCE=N,..."),
    SEED,
)
def compile_file(arguments: Arguments, evaluator: Evaluator) -> None:
    """Give LongMemEval's questions histories of any length."""
    if arguments.file.exists():
        raise MemoirError(f"{arguments.file} exists already. Name a new file, or delete it")
    plan = histories.Plan(arguments.fillers, _shares(arguments.shares or SHARES), arguments.characters, arguments.seed)
    fillers = histories.read_pools(map(_pool, arguments.pool))
    written = sessions = 0
    try:
        with arguments.file.open("x", encoding="utf-8") as file:
            for question in histories.compile_histories(arguments.questions, fillers, plan):
                file.write(",\n" if written else "[\n")
                json.dump(question, file, ensure_ascii=False)
                written += 1
                sessions += len(question["haystack_sessions"])
            file.write("\n]\n" if written else "[]\n")
    except BaseException:
        arguments.file.unlink(missing_ok=True)
        raise
    pools = {source: len(found) for source, found in sorted(fillers.items())}
    value = {"questions": written, "sessions": sessions, "pools": pools}
    show(arguments, value, fill_in("compiled.md", file=arguments.file, **value))


def _pool(text: str) -> tuple[str, Path]:
    source, sign, file = text.partition("=")
    return (source, Path(file)) if sign else ("", Path(text))


def _shares(text: str) -> dict[str, float]:
    parts = [part.partition("=") for part in text.split(",")]
    try:
        shares = {source.strip(): float(share) for source, _, share in parts}
    except ValueError:
        shares = {"": -1.0}
    if min(shares.values()) < 0 or not 0 < sum(shares.values()) < float("inf"):
        raise MemoirError(f"--shares {text!r}: expected numbers from 0 up, as in {SHARES}")
    return shares


# --- benchmarks made by a chat model

PLANNED = ("events", "dialogues", "questions")
"""Options of a benchmark that decide how a part is made."""

THRESHOLD_HELP = "lowest score from 0 to 10 that is kept; default: 6"
SCRIPT_HELP = "a script (.txt), or a folder with one for each episode; each scene has its date"

GENERATE = COMMANDS.add_group(
    "generate",
    "Make a benchmark's files by a chat model.",
    "Make a benchmark's files by a chat model; the same command goes on where it stopped.",
    JSON,
    argument("folder", "the folder to write, or to go on with", type=Path),
    argument("--model", "as openai:gpt-4o-mini, or gguf:FILE", required=True, metavar="NAME"),
    argument("--threshold", THRESHOLD_HELP, type=int, choices=range(11), default=6, metavar="N"),
    SEED,
    metavar="BENCHMARK",
)


def _amount(name: str, default: int, what: str) -> Argument:
    return number(name, f"{what}; default: {default}", default=default)


def _add_recipe(benchmark: str, recipe: ModuleType, about: str, *options: Argument) -> None:
    """Add the command that makes the files of a benchmark; `PLANNED` options go to its plan, others to its recipe."""
    names = [name.removeprefix("--") for name, _ in options]

    def generate(arguments: Arguments, evaluator: Evaluator) -> int:
        given = vars(arguments)
        planned = {name: given[name] for name in names if name in PLANNED}
        made_by = arguments.model, arguments.seed, arguments.threshold, planned
        model = chat_model(arguments.model, quantization=evaluator.settings.quantization)
        with progress_bars("part") as watch:
            generation = Generation(arguments.folder, read_prompts(str(recipe.__file__)), model, watch, *made_by)
            counts = recipe.generate(generation, *(given[name] for name in names if name not in PLANNED))
        for fault in generation.failed:
            print_error(f"{fault}. Run the same command again to try it again")
        value = {
            "counts": counts,
            "replies": sum(part["replies"] for part in generation.parts),
            "left_out": generation.left_out(),
            "failed": generation.failed,
        }
        show(arguments, value, fill_in("generated.md", benchmark=benchmark, folder=arguments.folder, **value))
        return 1 if generation.failed else 0

    generate.__doc__ = about
    GENERATE.add(benchmark, *options)(generate)


_add_recipe(
    "dialsim",
    dialsim,
    "Make questions about a show from its script.",
    path("--script", SCRIPT_HELP, required=True),
    path("--quiz", "quiz questions about the episodes, as a JSON list"),
)
_add_recipe(
    "longmemeval",
    longmemeval,
    "Make questions about invented users, with the chats that answer them.",
    _amount("--attributes", 1, "attributes of users to ask about, at most 164"),
    _amount("--questions", 1, "questions of each type for each attribute"),
)
_add_recipe(
    "madial-bench",
    madial,
    "Make users with memories, and dialogues that bring them up.",
    _amount("--users", 1, "users to make"),
    _amount("--events", 2, "memories for each of 20 pairs of scene and emotion"),
    _amount("--dialogues", 2, "dialogues of each of 8 kinds"),
)
_add_recipe(
    "perltqa",
    perltqa,
    "Make personas with memories and questions about them.",
    _amount("--personas", 1, "personas to make"),
    _amount("--events", 3, "events for each relationship"),
    _amount("--questions", 3, "questions for each memory"),
)


# --- models trained on a benchmark

BASE_HELP = "the model to fine-tune: a folder, or a name on huggingface.co, as bert-base-chinese"


@COMMANDS.add(
    "train",
    argument("benchmark", "the benchmark whose questions train it", choices=["perltqa"]),
    DATA,
    argument("--base", BASE_HELP, required=True, metavar="NAME"),
    path("--out", "a new folder for the trained model", required=True, metavar="FOLDER"),
    flag("--instruction", "put an instruction before each question (P+BERT-base)"),
    SEED,
)
def train_perltqa(arguments: Arguments, evaluator: Evaluator) -> None:
    """Train the classifier of PerLTQA's table 4: is a question about semantic or episodic memory?"""
    data = evaluator.data_of(benchmarks.find(arguments.benchmark), arguments.data)
    given = {"instruction": arguments.instruction, "seed": arguments.seed}
    with progress_bars("batch") as watch:
        done = training.train(data, arguments.out, arguments.base, watch, **given)
    text = fill_in("trained.md", done=done, base=arguments.base, out=arguments.out, data=data, epochs=training.EPOCHS)
    show(arguments, done, text)
