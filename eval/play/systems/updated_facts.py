"""Facts that are updated, as ChatGPT's and Coze's memories keep them: LongMemEval's table 2 says no more of these.

After each session, a chat model is shown the facts that are known and nearest to it, and writes the new ones, each with
the turn that tells it and the fact that it replaces, if any. Questions are compared with the facts that hold. Without a
chat model, the sentences in which people speak of themselves are the facts, in plain words where rules read them; one
replaces what it says anew or ends ("I live in Oslo now").
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from eval.play.session_rewriter import is_of_self
from eval.play.systems.built_in import Dense, Scores
from eval.play.systems.contract import TEXTS, Chat, Found, Session, Turn
from graph.learning.plain_facts import endings, facts
from graph.understanding.sentences import split
from memory.embedding.embedder import Embedder

SHOWN, CHARACTERS, TOKENS = 20, 14_000, 500
"""Known facts that the model is shown, and the most of a session that it is shown and of its reply."""

_FACT = re.compile(r"^\W*(\d+)\s*\|\s*([^|]*\w[^|]*?)\s*(?:\|\D*(\d*).*)?$", re.MULTILINE)


class UpdatedFacts(Dense):
    """Facts, each a turn whose id is that of the turn that tells it and a number."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        super().__init__(folder, embedder, chat)
        self._replaced_by: dict[str, str] = {}
        self._about: dict[str, set[object]] = {}

    def remember(self, session: Session) -> None:
        """Add the facts of a session."""
        read = self._by_model(session) if self.chat.model else self._by_rules(session)
        super().remember(replace(session, turns=tuple(read)))

    def scores(self, question: str) -> Scores:
        """The cosine of each fact that is not replaced by a known one."""
        known = {fact.id for fact in self.known}
        is_replaced = [self._replaced_by.get(fact.id) in known for fact in self.known]
        return np.where(is_replaced, -math.inf, super().scores(question))

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The k facts of the highest score, each with the turn that tells it."""
        return [replace(one, turns=(one.turns[0].rpartition(" ")[0],)) for one in super().search(question, as_of, k)]

    def _by_model(self, session: Session) -> Iterator[Turn]:
        talk = "\n".join(f"{n}. {turn.line}" for n, turn in enumerate(session.turns))[:CHARACTERS]
        known = super().search(talk, session.started_at or datetime.max.replace(tzinfo=UTC), SHOWN)
        listed = "\n".join(f"{n}. {fact.text}" for n, fact in enumerate(known))
        prompt = TEXTS["updated-facts"]["update"].format(known=listed or "none", session=talk)
        read = _FACT.findall(self.chat.ask(prompt, TOKENS))
        for n, (turn, text, replaced) in enumerate(read):
            if int(turn) < len(session.turns):  # a small model makes numbers up
                told = session.turns[int(turn)]
                fact = replace(told, id=f"{told.id} {n}", text=text)
                self._replaced_by |= {f.turns[0]: fact.id for f in known[int(replaced or len(known)) :][:1]}
                yield fact

    def _by_rules(self, session: Session) -> Iterator[Turn]:
        sentences = ((turn, sentence) for turn in session.turns for sentence in split(turn.text))
        for n, (turn, sentence) in enumerate(sentences):
            read = [*facts(sentence, turn.speaker, turn.said_at)] if turn.said_at else []
            ended = {*(end.text for end in endings(sentence, turn.speaker, turn.said_at))} if turn.said_at else set()
            plain = [fact.text for fact in read if fact.text not in ended]
            if plain or ended or is_of_self(sentence):
                fact = replace(turn, id=f"{turn.id} {n}", text=". ".join(plain) or sentence)
                one = {(f.relation.head, f.attribute) for f in read if f.relation and f.attribute}
                about: set[object] = {*plain, *ended, *one}
                self._replaced_by |= {old: fact.id for old, of in self._about.items() if of & about}
                self._about = {old: of for old, of in self._about.items() if not of & about} | {fact.id: about - ended}
                yield fact
