"""Make personas with memories and questions, and the two files of their benchmark, as the adapter reads them.

OUT/perltmem_generated.json    the banks of all personas
OUT/perltqa_generated.json     their questions

The questions are about each memory of a persona (PerLTQA, Du et al. 2024, section 3.2 and appendix A.2). The model
writes questions with answers for a memory, names the words of each answer that carry it, and scores all three from 0 to
10. The authors keep what scores 10, look at 6 to 9, and discard the rest; here the threshold decides, and `Score`
stands beside each question, so that people can look at those below 10.

A memory anchor is a segment of the answer that the memory has, too, without function words at its ends (section 3.2;
table 7, "blurred boundaries"). Its two numbers are its place in the memory as Memoir remembers it. A question without
an anchor is left out, as is one that was asked before.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from eval.benchmarks.perltqa.adapter import BANK, QUESTIONS, REFERENCE, SECTIONS
from eval.benchmarks.perltqa.generation.bank import Bank, draw_seed, make_bank
from eval.benchmarks.reading import gather
from eval.making.generation import Generated, Generation, GenerationPlan, Part, Writer, check_question, leave_out_if
from eval.making.replies import Phrase, Question, Questions, bound
from graph.models.json_replies import StrictReply
from memory.importers.benchmarks import perltqa as importer
from memory.search.tokens import FUNCTION_WORDS

QuestionsBySection = dict[str, list[Any]]
"""The questions of a persona by section; all but those on the profile by memory, too."""


class Anchors(StrictReply):
    """The words that carry an answer."""

    anchors: Annotated[list[Phrase], bound(maxItems=6)]


@dataclass(frozen=True, slots=True)
class Plan(GenerationPlan):
    """Events for each relationship, and questions for each memory."""

    events: int = 3
    questions: int = 3


class Persona(Part):
    """A persona's memories, and questions about them."""

    name: str
    bank: Bank
    questions: QuestionsBySection


def generate(generation: Generation[Plan], personas: int) -> Generated:
    """Make the personas that the folder lacks, then the benchmark's two files.

    Raises:
        GenerationStopped: the folder was made by another plan, the model does not reply, or no question was made.
    """
    plan = generation.plan

    def make(number: int, writer: Writer) -> Persona:
        taken = [persona.name for persona in writer.finished]
        name, bank = make_bank(draw_seed(plan.seed, number), taken, plan.events, writer)
        return Persona(name=name, bank=bank, questions=_questions(name, bank, plan.questions, writer))

    made = generation.make("persona", range(1, personas + 1), Persona, make)
    asked = [persona for persona in made if any(persona.questions.values())]
    if not asked:
        raise generation.nothing("question")
    generation.write(f"{BANK}_generated.json", {persona.name: persona.bank for persona in made})
    generation.write(f"{QUESTIONS}_generated.json", [{persona.name: persona.questions} for persona in asked])
    counts = {
        "personas": len(made),
        "memories": sum(len(section) for persona in made for section in persona.bank.values()),
        "questions": sum(_number(group) for persona in made for group in persona.questions.values()),
    }
    return generation.account(counts)


def _number(group: list[Any]) -> int:
    """The number of questions in a section, of which all but the profile group them by memory."""
    return sum(1 if "Question" in item else sum(map(len, item.values())) for item in group)


def _questions(name: str, bank: Bank, most: int, writer: Writer) -> QuestionsBySection:
    """Up to `most` questions about each memory of a bank, one about each field of the profile."""
    questions: QuestionsBySection = {section: [] for section in SECTIONS}
    asked: set[str] = set()
    for section, key, text in writer.each("questions", list(_memories(name, bank))):
        is_field = section == "profile"
        items = list(_items(name, text, 1 if is_field else most, asked, writer))
        for item in items:
            item[REFERENCE] = key if is_field else str([key])
        if items:
            questions[section].extend(items if is_field else [{key: items}])
    return questions


def _memories(name: str, bank: Bank) -> Iterator[tuple[str, str, str]]:
    """Section, id and text of each memory as the importer reads it; the name itself is not asked for."""
    sections = {store: section for section, store in SECTIONS.items()}
    (imported,) = gather(importer.read_character((name,), bank))
    for memory in imported.memories:
        if memory.external_id != "Protagonist":
            yield sections[memory.store], memory.external_id, memory.text
    for session in imported.sessions:
        text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in session.turns)
        yield sections["dialogue"], session.external_id, text


def _items(name: str, memory: str, most: int, asked: set[str], writer: Writer) -> Iterator[dict[str, Any]]:
    with writer.leave_out():
        reply = writer.ask(Questions, person=name, memory=memory, number_of_questions=most)
        for pair in reply.questions[:most]:
            with writer.leave_out():
                yield _item(pair, memory, asked, writer)


def _item(pair: Question, memory: str, asked: set[str], writer: Writer) -> dict[str, Any]:
    check_question(pair.question, pair.answer, asked)
    told = {"memory": memory, **pair.model_dump()}
    anchors = find_anchors(writer.ask(Anchors, **told).anchors, pair.answer, memory)
    leave_out_if(not anchors, "no anchor that answer and memory share")
    score = writer.score("PairScore", "below the threshold", **told, key_phrases=list(anchors))
    listed = [{text: place} for text, place in anchors.items()]
    return {"Question": pair.question, "Answer": pair.answer, "Memory Anchors": listed, "Score": score}


def find_anchors(candidates: Iterable[str], answer: str, memory: str) -> dict[str, list[int]]:
    """The candidates that are in both texts, each once, as the answer spells them, with their place in the memory."""
    anchors: dict[str, list[int]] = {}
    for candidate in candidates:
        sought = _as_words(_without_function_words(candidate))
        if sought and (there := sought.search(answer)) and (found := sought.search(memory)):
            anchors.setdefault(there[0], list(found.span()))
    return anchors


def _without_function_words(phrase: str) -> list[str]:
    parts = [part.strip(" \t.,;:!?\"'“”()") for part in phrase.split()]
    content = [place for place, part in enumerate(parts) if part and part.casefold() not in FUNCTION_WORDS]
    return parts[content[0] : content[-1] + 1] if content else []


def _as_words(parts: list[str]) -> re.Pattern[str] | None:
    """A pattern of these words, whole and in any case."""
    phrase = r"\s+".join(map(re.escape, parts))
    return re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE) if parts else None
