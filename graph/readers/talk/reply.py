"""Reply as the persona with a chat model: ask it, stream what it says, and repair only mechanical faults.

Removed are its reasoning and its notes, marks of a chat template and all that follows them, a line in which it recites
its instruction, its name before its words, and numbers of lines that are not in the prompt. All else stays as it is.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.language_models import BaseChatModel

from graph.models.calls import REASONING_TOKENS, Completion, ModelFailed, stream_reply
from graph.models.faults import UnknownModel
from graph.models.json_replies import REASONING
from graph.models.limits import recites, without_loop
from graph.models.local_model import runs_on_cpu
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens
from graph.readers.counting.intervals import asks_interval
from graph.readers.talk.checking import Checked, check, cite
from graph.readers.talk.known import gather
from graph.readers.talk.prompt import INSTRUCTION, TEMPLATE_MARK, Content, messages
from graph.state import Citation, ReaderInput, ReaderOutput, Reading, Stopped, Token, TraceLine, drop, until
from graph.understanding import markup
from memory.formatting import without_folders
from memory.types import Hit

USUAL_TOKENS, CPU_TOKENS = 2_400, 900
"""Tokens of a usual prompt with a dozen turns, and of one for a model that runs on this CPU, which reads some 500 a
second with the smallest model, and 50 with one of 8 billion weights."""

LEAST_MESSAGE = 200
"""Characters of a message that are shown at least."""

KEPT = "What came of it is kept."
STOPPED = "The reply was stopped; what was there is kept."
UNCHECKED = "This reply was not compared with your memories."
CUT_MESSAGE = "The message is longer than the chat model can read, so only its end was shown to it."

_NOTES = re.compile(r"\A\s*<notes>(.*?)(?:</notes>|\Z)", re.DOTALL)
_CITATION = re.compile(r"(?P<space>[ \t]?)\[(?P<numbers>\d{1,3}(?:, ?\d{1,3})*)\](?!\(|: ?\w+://)")
_UNFINISHED = re.compile(r"(?:\s*\[[\d, ]*|\s*\[/?I?N?S?T?|<[|/\w ]{0,30})\Z")
"""The beginning of a mark, which the next piece may complete."""
_LIST = re.compile(r"\[\s*-?\d")
_REASONS: set[str] = set()
"""Names of the models that spent all tokens of a reply on reasoning: they are given more from then on."""

Write = Callable[[Token], None]


@dataclass(slots=True)
class StreamedReply:
    """A reply as it streams: `say(text, restart)` is called with each repaired piece; a restart replaces all before.

    `text` is what was said so far. `cited` are the numbers of the lines that it cites, in the order in which they
    appear: they are numbered anew, from 1. With `has_lists`, the user wrote numbers in brackets, and several in one
    bracket are a list. `written` is the text with the numbers that its lines have in the prompt, and `notes` are what
    it noted before it replied.
    """

    lines: int
    name: str
    say: Callable[[str, bool], None]
    has_lists: bool = False
    raw: str = ""
    text: str = ""
    written: str = ""
    cited: list[int] = field(default_factory=list)
    notes: str = ""

    def feed(self, piece: str) -> None:
        """Take the next piece; what may be the beginning of a mark waits for the next one."""
        self.raw += piece
        self._show(_UNFINISHED.sub("", self._repaired(self.raw)).rstrip())

    def end(self, whole: str) -> None:
        """Take the whole reply, at its end. Notes that it did not end are over at their first blank line."""
        self.raw = whole
        text = self._repaired(without_loop(whole) or whole)
        if not text:
            self.notes, _, rest = self.notes.partition("\n\n")
            text = self._repaired(rest)
        self._show(text.strip())

    def _show(self, text: str) -> None:
        if text.startswith(self.text):
            if text != self.text:
                self.say(text[len(self.text) :], False)
        else:
            self.say(text, True)
        self.text = text

    def _repaired(self, raw: str) -> str:
        text = REASONING.sub("", raw).lstrip()
        if noted := _NOTES.match(text):
            self.notes, text = noted[1].strip(), text[noted.end() :].lstrip()
        text = _before_template_mark(text) if TEMPLATE_MARK.search(text) else text
        text = re.sub(rf"\A\**{re.escape(self.name)}\**:\**\s+", "", text)
        self.written = _without_recited_lines(text)
        self.cited.clear()
        return markup.outside_code(self.written, lambda words: _CITATION.sub(self._renumbered, words))

    def _renumbered(self, mark: re.Match[str]) -> str:
        """The mark with the numbers of the citations; empty if it names no line of the prompt.

        A list of numbers, and an index ("items[0]"), stay as they are unless all their numbers are those of lines.
        """
        named = [int(number) for number in mark["numbers"].split(",")]
        known = [number for number in named if 0 < number <= self.lines]
        is_index = not mark["space"] and mark.string[: mark.start()][-1:].isalnum()
        if (len(known) < len(named) and (is_index or len(named) > 1)) or (self.has_lists and len(named) > 1):
            return mark[0]
        for number in known:
            if number not in self.cited:
                self.cited.append(number)
        return "".join(f"{mark['space']}[{self.cited.index(number) + 1}]" for number in known)


async def speak(reader_input: ReaderInput, outdated: Sequence[int], write: Write) -> ReaderOutput:
    """Let the chat model reply. Once the user stops it, what is there of the reply is all of it, perhaps nothing.

    Raises:
        ModelFailed: it failed, or said nothing, before anything could be shown.
    """
    ask, services = reader_input.ask, reader_input.services
    model, settings = services.model, services.settings
    assert model is not None
    content, size, notices = await asyncio.to_thread(_content, reader_input, outdated)
    shown = StreamedReply(
        len(content.lines),
        ask.persona.name,
        lambda text, restart: write(Token(text, restart=restart)),
        has_lists=_LIST.search(ask.text) is not None,
    )
    reply = Completion("", size, cut=True)  # what it costs at least, if it is stopped or breaks off
    try:
        reply = await until(services.stop, _ask(model, content, shown, settings.model, settings.reply_tokens))
    except Stopped:
        notices += [STOPPED] if shown.text else []
    except (ModelFailed, UnknownModel) as fault:
        if not shown.text:
            raise
        notices.append(f"{fault}. {KEPT}")
    else:
        if reply.cut:
            notices.append(f"The reply was cut off at {settings.reply_tokens:,} tokens or began to repeat itself.")
    if not shown.text and not services.stop.is_set():
        raise ModelFailed("The chat model gave no usable reply (nothing was left without the marks of its template)")
    answer, checked = shown.text, Checked(Completion(""))
    checks = settings.check == "model" or (settings.check == "auto" and not runs_on_cpu(model))
    if checks and answer and not notices:
        write(Token("", is_last=True))
        checked = await check(services, content, shown.text, shown.written.strip(), size)
        # Who writes on does not wait for it; the trace says so.
        notices += [UNCHECKED] if checked.fault and not services.stop.is_set() else []
        answer = cite(answer, checked.sources, shown.cited)
    reading = Reading(
        answer,
        citations=_citations(reader_input.hits, content, shown.cited),
        by=settings.model,
        notice=" ".join(notices),
        cut=reply.cut,
        unsupported=checked.unsupported,
    )
    more = {"notes": shown.notes, "check": checked.fault and f"not compared: {without_folders(checked.fault)}"}
    lines = tuple(TraceLine(name, text) for name, text in more.items() if text)
    in_prompt = {line.memory.id for line in content.lines}
    hits = drop(reader_input.hits, lambda hit: hit.memory.id not in in_prompt, "budget", "not shown to the chat model")
    return ReaderOutput(reading, hits, _trace_line(content, reading, size, reply + checked.cost), lines)


def _citations(hits: Sequence[Hit], content: Content, cited: Sequence[int]) -> tuple[Citation, ...]:
    scores, lines = {hit.memory.id: hit.scores for hit in hits}, [content.lines[number - 1] for number in cited]
    return tuple(
        Citation(n, line.memory, line.words, scores.get(line.memory.id, {})) for n, line in enumerate(lines, 1)
    )


def _trace_line(content: Content, reading: Reading, size: int, reply: Completion) -> TraceLine:
    figures = {
        "known": len(content.known),
        "earlier": len(content.earlier),
        "turns": len(content.turns),
        "prompt tokens": size,
        **reply.cost,
        "unsupported": len(reading.unsupported),
        "fallback": 0,
    }
    return TraceLine("read", f"{without_folders(reading.by)}, {reading.outcome}", figures)


def _content(reader_input: ReaderInput, outdated: Sequence[int]) -> tuple[Content, int, list[str]]:
    """What the prompt is made of, as much as fits; see `fit`. What is left out of the chat may be found again."""
    ask, message, services = reader_input.ask, reader_input.message, reader_input.services
    model, most = services.model, services.settings.reply_tokens
    assert model is not None
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - min(most, context // 2)
    share = min(1.0, max(room, CPU_TOKENS) / USUAL_TOKENS, CPU_TOKENS / USUAL_TOKENS if runs_on_cpu(model) else 1.0)
    content, size, notices = fit(gather(reader_input, outdated, share), model, room)
    left = len(content.turns)
    if left < len(ask.dialogue):
        shorter = replace(content.ask, dialogue=ask.dialogue[len(ask.dialogue) - left :])
        content, size, more = fit(gather(replace(reader_input, ask=shorter), outdated, share), model, room)
        notices = notices or more
    asks = message.classes.is_question and message.classes.asks_memory
    gathers = message.classes.asks_several or asks_interval(message.question.text)
    together = asks and gathers and len(content.lines) > 1
    # On this CPU, notes would take longer than the reply.
    return replace(content, notes=together and not runs_on_cpu(model)), size, notices


async def _ask(model: BaseChatModel, content: Content, shown: StreamedReply, name: str, most: int) -> Completion:
    """The whole reply; a model that got no further than its reasoning is asked again with more tokens."""
    spent = Completion("")
    while True:
        room = most + (REASONING_TOKENS if name in _REASONS else 0)
        reply = spent + await stream_reply(model, messages(content), max_tokens=room, on_piece=shown.feed)
        shown.end(reply.text)
        if shown.text or not reply.cut or name in _REASONS:
            return reply
        _REASONS.add(name)
        shown.raw, spent = "", reply


def fit(content: Content, model: BaseChatModel, room: int) -> tuple[Content, int, list[str]]:
    """The content that fits in so many tokens, its size in tokens, and what the user must be told; blocks.

    The older half of the chat goes first, and again half of the rest: so the beginning of the prompt stays the same
    for many messages. Then go the oldest of the earlier lines, half by half what was learned first, for a newer line
    replaces an older one, and the beginning of the message.

    Raises:
        ModelFailed: not even the persona's card fits.
    """
    size, notices = count_tokens(model, messages(content)), list[str]()
    while size > room:
        if content.turns:
            content = replace(content, turns=content.turns[(len(content.turns) + 1) // 2 :])
        elif content.earlier:
            content = replace(content, earlier=content.earlier[1:])
        elif content.known:
            content = replace(content, known=content.known[(len(content.known) + 1) // 2 :])
        elif len(content.ask.text) > LEAST_MESSAGE:
            notices = [CUT_MESSAGE]
            content = replace(content, ask=replace(content.ask, text=content.ask.text[len(content.ask.text) // 4 :]))
        else:
            raise ModelFailed(
                f"the prompt has {size:,} tokens and the chat model can read {room:,} beside its reply. "
                "Shorten the persona's card, or choose a model with a longer context"
            )
        size = count_tokens(model, messages(content))
    return content, size, notices


def _before_template_mark(text: str) -> str:
    """The text before the first mark that ends a turn; marks before any word are left out, and those in code stay."""
    kept = ""
    for part, is_code in markup.parts(text):
        head, *rest = [part] if is_code else TEMPLATE_MARK.split(part)
        while rest and not (kept + head).strip():
            head, *rest = rest
        kept += head
        if rest:
            break
    return kept.lstrip()


def _without_recited_lines(text: str) -> str:
    lines = text.split("\n")
    kept = [line for line in lines if not recites(line, INSTRUCTION)]
    return text if len(kept) == len(lines) else "\n".join(kept).lstrip()
