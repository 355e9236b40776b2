"""LD-Agent (Li et al., NAACL 2025, arXiv:2406.05925): summaries of sessions, found by meaning, topics and age.

As in the paper: a session is summarised, and its nouns are its topics. A question is extended with its own: the score
of a session is the cosine of question and summary plus the overlap of their topics, and fades with time. A session
stands for its turns, the nearest first, since the shared reader reads these. Simpler than the paper: content words
instead of a tagger's nouns, no least cosine, and no personas, which serve the reply. Without a chat model, a summary is
the sentences nearest to the centroid of TF-IDF.
"""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from eval.play.systems.built_in import Dense
from eval.play.systems.contract import Turn
from eval.play.systems.raptor import NEARNESS, summary
from memory.search.tokens import content_terms

FADING = timedelta(seconds=1e7)
"""In which a score falls to 1/e, as in the paper."""

SUMMARISE = "Summarize the main points of this conversation in brief sentences, within 20 words:\n{}"


class LdAgent(Dense):
    """The summaries and topics of what is known of each session, made anew when other turns are known."""

    def index(self, turns: Sequence[Turn]) -> None:
        """Summarise sessions, and see how much of each has faded; what has no time does not fade."""
        super().index(turns)
        names = [self.session_of[turn.id] for turn in turns]
        sessions: dict[str, list[Turn]] = {name: [] for name in names}
        for name, turn in zip(names, turns, strict=True):
            sessions[name].append(turn)
        places = {name: place for place, name in enumerate(sessions)}
        self._place = [places[name] for name in names]
        texts = [[turn.line for turn in session] for session in sessions.values()]
        self._summaries = self.embedder.encode_document([summary(self.chat, each, SUMMARISE) for each in texts])
        self._topics = [set(content_terms(" ".join(each))) for each in texts]
        ends = [session[-1].said_at for session in sessions.values()]
        latest = max((end for end in ends if end), default=None)
        # The time from the latest session to the question is the same for all.
        self._kept = np.exp([(end - latest) / FADING if end and latest else 0.0 for end in ends])

    def scores(self, question: str) -> Sequence[float]:
        """The score of the session of each turn; the turn's own cosine orders those of one session."""
        asked, vector = set(content_terms(question)), self.embedder.encode_query([question])[0]
        shared = [(len(asked & topics), len(topics)) for topics in self._topics]
        overlap = [(n / len(asked) + n / of) / 2 if n else 0.0 for n, of in shared]
        of_session = self._kept * (self._summaries @ vector + overlap)
        scores: list[float] = (of_session[self._place] + NEARNESS * (self.vectors @ vector)).tolist()
        return scores
