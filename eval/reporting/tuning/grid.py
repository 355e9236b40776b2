"""The constants that are chosen, the values that each may take, and the figures that decide."""

from collections.abc import Mapping

from eval.runs.experiment import Experiment, with_settings

Constants = Mapping[str, float]
"""A value for each name of `GRID`; `views` and `voice` are false or true."""

GRID: Mapping[str, tuple[float, ...]] = {
    "search.dense_weight": (0, 0.2, 0.4, 0.6, 0.8, 1),
    "views": (False, True),
    "search.voice": (False, True),
    "search.time": (0, 0.3, 0.6, 1.2),
    "search.speaker": (0, 0.2, 0.4, 0.8),
    "search.neighbours": (0, 0.15, 0.3, 0.6),
}
"""In the order in which they are chosen; of each, off first, then ever farther from off. With all of them off, memories
are ranked by BM25 alone."""

FIGURES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("memoir", "conversations", "longmemeval", "locomo"), ("session_recall_all@5", "turn_recall@10")),
    "perltqa": ("recall@1", "recall@5"),
    "madial-bench": ("mrr@5", "recall@5"),
}
"""The figures of each benchmark, of which a probe's value is the mean."""


def off() -> Constants:
    """Every factor off: where the choice starts, so that no earlier choice has a part in it."""
    return {name: values[0] for name, values in GRID.items()}


def constants_of(experiment: Experiment) -> Constants:
    """The constants of an experiment."""
    settings = experiment.settings
    return {name: settings[name] for name in GRID}


def with_constants(experiment: Experiment, constants: Constants) -> Experiment:
    """An experiment with other constants."""
    return with_settings(experiment, [f"{name}={value}" for name, value in constants.items()])
