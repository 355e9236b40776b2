"""The arguments of each command of `python -m eval`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from eval.benchmarks import BENCHMARKS, PRESETS
from eval.cli import compiling, generating, listing, rating, run, tables, training
from eval.fetching.fetch import SOURCES
from eval.play.execute import ENGINES
from eval.runs.evaluator import Evaluator
from eval.runs.halves import HALVES
from eval.speed.banks import Size
from memory.cli.program import positive_number

Command = Callable[[argparse.Namespace, Evaluator], int]


def parser() -> argparse.ArgumentParser:
    """Build the parser; the parsed arguments hold the command's function as `command`."""
    top = argparse.ArgumentParser(prog="python -m eval", description="Measure how good the memory is, on benchmarks.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        return sub

    _describe_run(add("run", run.run, "Run a benchmark and score it; an unfinished run is resumed."))
    sub = add("report", tables.show_report, "Show a run's report.")
    sub.add_argument("run", nargs="?", default="last", help="its name or the start of it; the newest by default")
    sub.add_argument("--csv", action="store_true", help="print one row for each figure")
    sub = add("results", tables.measure_results, "Run every benchmark whose files are here, and print one table.")
    _add_half(sub)
    _add_jobs(sub)
    _add_write(sub)
    sub = add("encoders", tables.measure_encoders, "Run every benchmark with each packaged encoder, without a reader.")
    _add_jobs(sub)
    _add_write(sub)
    sub = add("papers", tables.measure_papers, "Run the rows of the papers' tables that need no chat model.")
    sub.add_argument("benchmark", nargs="*", help="of these benchmarks only")
    sub.add_argument("--model", default="", metavar="NAME", help="run those that need a chat model instead, with this")
    sub.add_argument("--limit", type=positive_number, metavar="N", help="ask the first N probes only")
    _add_jobs(sub)
    _add_write(sub)
    text = "Choose the constants of retrieval on all benchmarks but one, and measure that one; for each of them."
    sub = add("tune", tables.measure_tuning, text)
    _add_jobs(sub)
    _add_write(sub)
    sub.add_argument("--limit", type=positive_number, metavar="N", help="ask the first N probes of each half only")
    sub = add("compare", tables.compare, "Compare two runs, probe by probe.")
    sub.add_argument("first")
    sub.add_argument("second")
    _add_write(add("settings", tables.show_settings, "List every setting with its default and meaning."))
    add("list", listing.list_runs, "List the runs, newest first.")
    add("presets", listing.list_presets, "List the papers' tables that can be run by name.")
    sub = add("fetch", listing.fetch_files, "Download a benchmark's official files.")
    sub.add_argument("benchmark", choices=list(SOURCES))
    sub = add("judge", run.judge, "Let a chat model judge a run's answers, or read verdicts of LongMemEval's script.")
    sub.add_argument("run")
    sub.add_argument("model", nargs="?", help="as openai:gpt-4o-mini, or http://127.0.0.1:8000/v1#name")
    sub.add_argument("--labels", type=Path, metavar="FILE", help="the file that LongMemEval's evaluate_qa.py wrote")
    sub = add("export", listing.export_answers, "Write a run's answers as LongMemEval's own judge script reads them.")
    sub.add_argument("run")
    sub.add_argument("file", type=Path)
    _describe_rate(commands.add_parser("rate", help="Rate replies of runs, by people or by a chat model."))
    _describe_compile(add("compile", compiling.compile_file, "Give LongMemEval's questions histories of any length."))
    _describe_generate(commands.add_parser("generate", help="Make a benchmark's files by a chat model."))
    _describe_train(commands.add_parser("train", help="Train a model on a benchmark's own questions."))
    sub = add("delete", listing.delete_run, "Delete a run.")
    sub.add_argument("run")
    _describe_bench(add("bench", tables.measure_sizes, "Measure speed, memory and exactness at growing sizes."))
    sub = add("bench-turn", tables.measure_turn, "Measure a chat turn, the app's start and its idle memory.")
    sub.add_argument("--memories", type=positive_number, default=10_000, metavar="N", help="memories in the bank")
    sub.add_argument("--turns", type=positive_number, default=100, metavar="N", help="turns to measure")
    sub.add_argument("--no-app", action="store_true", help="do not start the app")
    _add_write(sub)
    return top


def _describe_run(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("benchmark", choices=list(BENCHMARKS), help="the benchmark's name")
    sub.add_argument("--data", type=Path, metavar="FILE", help="its file or folder, if not in Memoir's own data folder")
    sub.add_argument("--limit", type=positive_number, metavar="N", help="ask the first N probes only")
    sub.add_argument("--only", action="append", default=[], metavar="HISTORY", help="play this history only")
    sub.add_argument("--reader", metavar="READER", help="the reader; none measures classification and retrieval alone")
    sub.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change a setting"
    )
    sub.add_argument("--sweep", action="append", default=[], metavar="NAME=V,V", help="run every combination")
    sub.add_argument("--preset", choices=list(PRESETS), metavar="NAME", help="run the rows of a paper's table")
    _add_half(sub)
    _add_jobs(sub)
    text = "where they run: on this machine, or on the Ray cluster at RAY_ADDRESS"
    sub.add_argument("--engine", choices=list(ENGINES), default="local", help=text)
    sub.add_argument("--judge", metavar="MODEL", help="let this chat model judge the answers")
    sub.add_argument("--afresh", action="store_true", help="start a new run instead of resuming an unfinished one")
    sub.add_argument("--cold", action="store_true", help="use no cached embeddings")


def _describe_rate(rate: argparse.ArgumentParser) -> None:
    rate.description = "Rate replies of runs, by people or by a chat model, without showing whose they are."
    commands = rate.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        sub.add_argument("run", nargs="+", help="runs of one benchmark; what all of them replied to is rated")
        sub.add_argument("--reference", action="store_true", help="rate the benchmark's own replies, too")
        return sub

    sub = add("sheet", rating.write_sheet, "Write a sheet to fill in: a CSV file with a line for each reply.")
    sub.add_argument("--out", dest="file", help="the sheet to write", type=Path, required=True, metavar="FILE")
    sub.add_argument("--limit", type=positive_number, metavar="N", help="of N questions only, chosen at random")
    sub.add_argument("--seed", type=int, default=0, help="seed of the order")
    sub = add("judge", rating.let_model_rate, "Let a chat model fill a sheet in.")
    sub.add_argument("--sheet", help="a sheet of these runs", type=Path, required=True, metavar="FILE")
    sub.add_argument("--model", required=True, help="as openai:gpt-4o-mini, or http://127.0.0.1:8000/v1#name")
    sub.add_argument("--out", dest="file", help="the filled sheet to write", type=Path, required=True, metavar="FILE")
    sub = add("read", rating.read_sheets, "Read sheets that were filled in, each by one rater.")
    sub.add_argument(
        "--sheet",
        action="append",
        help="a filled sheet; its rater is called like it",
        type=Path,
        required=True,
        metavar="FILE",
    )


def _describe_compile(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("questions", type=Path, help="a LongMemEval file; the oracle file is enough")
    sub.add_argument("file", type=Path, help="the file to write, in the same format")
    sub.add_argument(
        "--pool",
        action="append",
        required=True,
        metavar="[SOURCE=]FILE",
        help="sessions in any format that is imported",
    )
    sub.add_argument("--fillers", type=positive_number, required=True, metavar="N", help="sessions beside the evidence")
    sub.add_argument("--characters", type=positive_number, default=0, metavar="N", help="most characters of a history")
    text = "the share of each source; default: sharegpt=25,ultrachat=25,user=50"
    sub.add_argument("--shares", default="", metavar="SOURCE=N,...", help=text)
    sub.add_argument("--seed", type=int, default=0, help="seed of the random choices")


def _describe_generate(generate: argparse.ArgumentParser) -> None:
    generate.description = "Make a benchmark's files by a chat model; the same command goes on where it stopped."
    commands = generate.add_subparsers(required=True, metavar="BENCHMARK")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        sub.add_argument("folder", type=Path, help="the folder to write, or to go on with")
        sub.add_argument("--model", required=True, metavar="NAME", help="as openai:gpt-4o-mini, or gguf:FILE")
        least = "lowest score from 0 to 10 that is kept; default: 6"
        sub.add_argument("--threshold", type=int, choices=range(11), default=6, metavar="N", help=least)
        sub.add_argument("--seed", type=int, default=0, help="seed of the random choices")
        return sub

    def add_number(sub: argparse.ArgumentParser, name: str, default: int, what: str) -> None:
        text = f"{what}; default: {default}"
        sub.add_argument(name, type=positive_number, default=default, metavar="N", help=text)

    sub = add("dialsim", generating.generate_dialsim, "Make questions about a show from its script.")
    text = "a script (.txt), or a folder with one for each episode; each scene has its date"
    sub.add_argument("--script", type=Path, required=True, metavar="FILE", help=text)
    sub.add_argument("--quiz", type=Path, metavar="FILE", help="quiz questions about the episodes, as a JSON list")
    text = "Make questions about invented users, with the chats that answer them."
    sub = add("longmemeval", generating.generate_longmemeval, text)
    add_number(sub, "--attributes", 1, "attributes of users to ask about, at most 164")
    add_number(sub, "--questions", 1, "questions of each type for each attribute")
    text = "Make users with memories, and dialogues that bring them up."
    sub = add("madial-bench", generating.generate_madial, text)
    add_number(sub, "--users", 1, "users to make")
    add_number(sub, "--events", 2, "memories for each of 20 pairs of scene and emotion")
    add_number(sub, "--dialogues", 2, "dialogues of each of 8 kinds")
    sub = add("perltqa", generating.generate_perltqa, "Make personas with memories and questions about them.")
    add_number(sub, "--personas", 1, "personas to make")
    add_number(sub, "--events", 3, "events for each relationship")
    add_number(sub, "--questions", 3, "questions for each memory")


def _describe_train(train: argparse.ArgumentParser) -> None:
    train.description = "Train a model on the questions that a benchmark has for training."
    commands = train.add_subparsers(required=True, metavar="BENCHMARK")
    text = "Train the classifier of PerLTQA's table 4: is a question about semantic or episodic memory?"
    sub = commands.add_parser("perltqa", help=text, description=text)
    sub.set_defaults(command=training.train_perltqa)
    sub.add_argument("--json", action="store_true", help="print one JSON object")
    sub.add_argument("--data", type=Path, metavar="FILE", help="its file or folder, if not in Memoir's own data folder")
    text = "the model to fine-tune: a folder, or a name on huggingface.co, as bert-base-chinese"
    sub.add_argument("--base", required=True, metavar="NAME", help=text)
    sub.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder for the trained model")
    sub.add_argument("--instruction", action="store_true", help="put an instruction before each question (P+BERT-base)")
    sub.add_argument("--seed", type=int, default=0, help="seed of the random choices")


def _describe_bench(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--sizes", type=_sizes, default=(10_000, 100_000, 1_000_000), metavar="N,N", help="memories")
    sub.add_argument("--personas", type=_size, default=Size(1000, 1000), metavar="PxN", help="personas x memories each")
    sub.add_argument("--questions", type=positive_number, default=100, metavar="N", help="questions at each size")
    sub.add_argument("--seed", type=int, default=0, help="seed of the synthetic conversations")
    sub.add_argument("--folder", type=Path, help="keep the banks in this folder, and reuse those that are there")
    _add_write(sub)


def _add_jobs(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--jobs", type=positive_number, default=1, metavar="N", help="processes; they do not change the results"
    )


def _add_half(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--half", choices=HALVES, help="ask the half that tunes, or the half that reports; default: both")


def _add_write(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in this file")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(positive_number(part.strip()) for part in text.split(","))


def _size(text: str) -> Size:
    personas, _, memories = text.partition("x")
    return Size(positive_number(personas), positive_number(memories))
