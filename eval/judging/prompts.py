"""The prompts for a verdict, by family of abilities; their texts and those for scores are in prompts.toml.

The question, the gold answers and the answer are untrusted. Each is a JSON string on a line of its own without any `<`,
so that nothing in it can end the line.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.types import Prediction, Probe
from graph.models.json_replies import quoted

NO_ANSWER = "(no answer was given)"

TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))
INSTRUCTIONS: Mapping[str, str] = TEXTS["instructions"]


def family(probe: Probe) -> str:
    """The family of a probe, by whether it is answerable and by the first word in its ability that has one."""
    if not probe.gold.answerable:
        return "unanswerable"
    return next((found for word, found in TEXTS["families"].items() if word in probe.ability.casefold()), "plain")


def judging_prompt(probe: Probe, prediction: Prediction) -> str:
    """The texts, a line each, then the instructions and the form of the reply."""
    kind = family(probe)
    lines: dict[str, object] = {"Day of the question": probe.asked_at.date().isoformat()}
    if probe.dialogue:
        lines["Said before"] = [f"{turn.speaker}: {turn.text}" for turn in probe.dialogue]
    lines["Question"] = probe.question
    if probe.choices:
        lines["Choices"] = list(probe.choices)
    if probe.gold.answers:
        lines[TEXTS["gold"].get(kind, "Right answers")] = list(probe.gold.answers)
    lines["Answer"] = prediction.answer.strip() or NO_ANSWER
    texts = "\n".join(f"{name}: {quoted(text)}" for name, text in lines.items())
    return f"{texts}\n\n{INSTRUCTIONS[kind]}\n{TEXTS['verdict']}"
