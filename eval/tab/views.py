"""How runs and probes look: HTML in which every text that came from outside is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from eval.experiment import Experiment
from eval.judging.judge import Agreement
from eval.reporting.compare import Comparison
from eval.reporting.render import headlines
from eval.reporting.report import Report
from eval.runs.run import Run
from eval.tab.drill_down import Piece
from eval.tab.running import Going, Plan
from eval.types import Figure, Sample
from memory.tab.formatting import clip, format_count, format_duration, format_time
from memory.tab.templates import hint, progress_bar

MEANINGS: Mapping[str, str] = {
    "answer_accuracy": "answerable questions answered rightly, and unanswerable ones declined",
    "judge_accuracy": "answers that the judge calls right",
    "choice_accuracy": "questions whose right choice was taken",
    "session_recall_all@5": "questions with all their evidence in the first 5 sessions",
    "session_recall@5": "share of the evidence in the first 5 sessions",
    "turn_recall@10": "share of the evidence in the first 10 memories",
    "geometric_mean@5": "of MAP, MRR, nDCG, recall and precision at 5",
    "recall@1": "share of the evidence that comes first",
    "recall@5": "share of the evidence in the first 5",
    "classification_accuracy": "questions whose kind of memory was told rightly",
    "token_f1": "overlap of answer and right answer in words",
    "token_recall": "share of the right answer's words in the answer",
    "anchor_map": "key phrases of the right answer that the answer holds",
    "anchor_ceiling": "key phrases of the right answer that the evidence holds: the most that an answer can",
    "brought_up": "messages that ask nothing and brought a memory up",
    "brought_up_precision": "memories brought up that are of the evidence",
    "abstention_f1": "declining what cannot be answered, and only that",
    "false_refusal_rate": "answerable questions that were declined; lower is better",
}
"""The figures that stand first, in a line each."""


CARDS = 8
"""Figures that stand first."""


def number(value: float) -> str:
    """A fraction as tables print it: ".874"."""
    return f"{value:.3f}".removeprefix("0") if value >= 0 else f"-{number(-value)}"


def named(metric: str) -> str:
    """A metric's name in words."""
    return metric.replace("_", " ")


# --- before and while something runs


def progress(going: Going) -> str:
    """How far the work is, with the time left; what came of it once it has ended."""
    if going.plan is None:
        return ""
    if going.stage == "failed":
        return _report(f"<strong>{escape(going.plan.title)}</strong> broke off: {escape(going.fault)}", bad=True)
    if going.stage == "stopped":
        kept = f"{going.done:,} of {format_count(going.total, 'probe')}" if going.total else "what was answered"
        return _report(f"Stopped. {kept} kept; Run with the same settings goes on from there.")
    return _bar(going) if going.is_on else ""


def _bar(going: Going) -> str:
    assert going.plan is not None
    steps = []
    if len(going.plan.orders) > 1:
        label = going.plan.orders[going.at][0]
        steps.append(f"run {going.at + 1} of {len(going.plan.orders)} ({label})")
    steps.append(_doing(going))
    if going.stage == "stopping":
        steps.append("stopping after this probe…")
    elif going.seconds_left is not None:
        steps.append(f"{format_duration(going.seconds_left)} left")
    return progress_bar(going.plan.title, steps, going.share, "Probes answered")


def _doing(going: Going) -> str:
    if not going.total:
        return "reading the files…"
    done = f"{going.done:,} of {format_count(going.total, 'probe')}"
    if going.done == going.kept:
        return f"{done} · remembering the first history…" if not going.kept else f"{done} were answered before"
    return f"{done} · history {clip(going.history, 40)}"


def section(title: str, content: str) -> str:
    """A part of a probe under its heading."""
    return f'<h3 class="memoir-heading">{escape(title)}</h3>{content}'


def _report(text: str, *, bad: bool = False) -> str:
    role, extra = ("alert", " memoir-report-bad") if bad else ("status", "")
    return f'<div class="memoir-report{extra}" role="{role}"><p>{text}</p></div>'


def steps(title: str, text: str) -> str:
    """What could not be downloaded and how to get it by hand, its lines kept."""
    head = f"<p><strong>{escape(title)}</strong></p>"
    return f'<div class="memoir-report memoir-steps">{head}<pre>{escape(text)}</pre></div>'


# --- a report


def heading(held: Report) -> str:
    """Which run it is: benchmark, portion, machine, and the settings that are not as usual."""
    unfinished = "" if held.done else ' <span class="memoir-badge memoir-badge-event">unfinished</span>'
    of = f"{format_count(held.n, 'probe')} of {format_count(held.histories, 'history', 'histories')} ({held.portion})"
    facts = " · ".join(escape(part) for part in (of, held.date, held.machine, f"code {held.code}", held.run))
    changed = differences(held.settings)
    settings = f"Settings: {changed}" if changed else "Settings: as usual"
    return (
        f'<div class="memoir-run"><h2 class="memoir-heading">{escape(held.title)}{unfinished}</h2>'
        f'<p class="memoir-meta">{facts}</p><p class="memoir-meta">{escape(settings)}</p></div>'
    )


def differences(settings: Mapping[str, object]) -> str:
    """The settings that are not as they are by default."""
    usual = Experiment().settings
    return ", ".join(f"{name}={value}" for name, value in settings.items() if usual.get(name) != value)


def summary(held: Report) -> str:
    """The figures to look at first, a card each."""
    cards = "".join(_figure(name, figure) for name, figure in headlines(held, CARDS))
    return f'<div class="memoir-figures">{cards}</div>' if cards else hint("Nothing was answered yet.")


def _figure(name: str, figure: Figure) -> str:
    return (
        f'<div class="memoir-figure"><p class="memoir-overline">{escape(named(name))}</p>'
        f'<p class="memoir-value">{number(figure.value)}</p>'
        f'<p class="memoir-meta">{number(figure.low)} to {number(figure.high)} · n {figure.n:,}</p>'
        f'<p class="memoir-meaning">{escape(MEANINGS.get(name, ""))}</p></div>'
    )


def agreement(held: Agreement) -> str:
    """How far judge and rule agree: "91 % of 120, kappa .78"."""
    if held.share is None:
        return "nothing was judged by both"
    kappa = f", kappa {number(held.kappa)}" if held.kappa is not None else ""
    return f"{held.share:.0%} of {held.n:,}{kappa}"


def table_notes(plan: Plan) -> str:
    """What stands under the table of a sweep or of a paper's rows."""
    parts = [
        f"It is about the ability {plan.ability}." if plan.ability else "",
        plan.remark and f"Note: {plan.remark}.",
    ]
    if plan.left_out:
        parts.append(f"Left out: {'; '.join(plan.left_out)}.")
    return hint(" ".join(filter(None, parts)))


# --- a probe


def question(sample: Sample, *, answered: bool) -> str:
    """What was asked, what is right, what was answered, and the verdict."""
    probe, prediction = sample.probe, sample.prediction
    gold = " / ".join(probe.gold.answers) if probe.gold.answerable else "It cannot be answered from this history."
    facts = {
        "Right answer": gold or "The benchmark gives none; what counts is the evidence.",
        "Answer": _answer(sample),
        "Verdict": _verdict(sample) if answered else "",
        "Choices": " / ".join(probe.choices),
        "Key phrases": " / ".join(probe.gold.anchors),
        "Said just before": " ".join(f"{t.speaker}: {t.text}" for t in probe.dialogue),
        "Cited": ", ".join(prediction.cited),
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(clip(value, 1200))}</dd>" for name, value in facts.items() if value)
    about = [probe.ability, f"asked on {format_time(probe.asked_at)}", f"history {prediction.history_id}", probe.id]
    return (
        f'<div class="memoir-card" data-probe="{escape(probe.id)}"><p class="memoir-meta">'
        f"{' · '.join(escape(part) for part in about if part)}</p>"
        f'<p class="memoir-quote">{escape(probe.question)}</p><dl class="memoir-facts">{rows}</dl>'
        f"{_reply(sample)}</div>"
    )


def _answer(sample: Sample) -> str:
    prediction = sample.prediction
    said = prediction.answer or ("I don't know" if prediction.abstained else "none: there was no reader")
    return f"{said} (declined: {prediction.reason or 'no reason given'})" if prediction.abstained else said


def _verdict(sample: Sample) -> str:
    verdict = sample.verdict
    return "" if verdict is None else f"{verdict.state}, by {'rule' if verdict.by == 'rule' else verdict.by}"


def _reply(sample: Sample) -> str:
    if sample.verdict is None or not sample.verdict.reply:
        return ""
    return f"<details><summary>The judge's own words</summary><p>{escape(sample.verdict.reply)}</p></details>"


def evidence(pieces: Sequence[Piece]) -> str:
    """Each piece of the evidence with what became of it."""
    if not pieces:
        return hint("There is no evidence for this question: nothing in the history answers it, or none is given.")
    rows = "".join(_piece(piece) for piece in pieces)
    return f'<ol class="memoir-evidence">{rows}</ol>'


def _piece(piece: Piece) -> str:
    rank = f"rank {piece.rank}: {piece.place}" if piece.rank else piece.place
    fate = rank if piece.stored else "not stored"
    kind = "good" if piece.place == "read" else "bad"
    text = (
        escape(clip(piece.text, 500))
        or "<em>its words are not at hand: the benchmark's files are not where they were</em>"
    )
    return (
        f'<li><p class="memoir-meta"><span class="memoir-fate memoir-fate-{kind}">{escape(fate)}</span> '
        f"{escape(piece.unit)}</p><p>{text}</p></li>"
    )


def trace(sample: Sample) -> str:
    """What each node decided, and how long it took."""
    took = sample.prediction.milliseconds
    items = ""
    for step in sample.prediction.trace:
        node, _, decided = step.partition(": ")
        time = f"{took[node]:.1f} ms" if node in took else ""
        items += f"<li><strong>{escape(node)}</strong> <span>{escape(decided)}</span> <small>{time}</small></li>"
    total = f'<p class="memoir-meta">{sample.prediction.response_ms:.1f} ms in all</p>'
    return f'<ol class="memoir-taken">{items}</ol>{total}'


# --- earlier runs


def run(chosen: Run) -> str:
    """One earlier run, before it is opened."""
    changed = differences(chosen.spec.settings) or "as usual"
    state = "finished" if chosen.is_done else "unfinished: Run with the same settings goes on with it"
    facts = {
        "Started": format_time(chosen.created.astimezone()),
        "State": state,
        "Settings": changed,
        "Data": chosen.spec.data,
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return (
        f'<div class="memoir-card" data-run="{escape(chosen.name)}"><p class="memoir-meta">Chosen</p>'
        f'<p class="memoir-quote">{escape(chosen.name)}</p><dl class="memoir-facts">{rows}</dl></div>'
    )


def run_name(one: Run) -> str:
    """A run to choose by: when, how much, and with which settings."""
    return (
        f"{format_time(one.created.astimezone())} · {one.spec.portion} · {differences(one.spec.settings) or 'as usual'}"
    )


def deleting(chosen: Run, answers: int) -> str:
    """The question whether a run is to be deleted."""
    return _report(
        f"<strong>Delete {escape(chosen.name)}?</strong> Its {format_count(answers, 'answer')} and figures are removed "
        "for good; the benchmark's files and the embeddings stay.",
        bad=True,
    )


def deleted(name: str) -> str:
    """That a run was deleted."""
    return _report(f"Deleted {escape(name)}.")


def compared(held: Comparison) -> str:
    """What differs between the settings of two runs."""
    settings = "; ".join(f"{name}: {a} / {b}" for name, (a, b) in held.settings.items()) or "none"
    return _report(
        f"<strong>{escape(held.first)}</strong> (first) and <strong>{escape(held.second)}</strong> (second), on the "
        f"{format_count(held.n, 'probe')} that both asked. Settings that differ: {escape(settings)}."
    ) + hint(
        "The difference is second less first, with its 95 % interval; p from a paired randomisation test, a star below "
        ".05. With so many figures some are below .05 by chance."
    )
