"""mem0 (Chhikara et al. 2025, arXiv:2504.19413), from the package mem0ai, with the encoder of the experiment.

Its vectors are in a Qdrant file in the memory's folder, and its telemetry is off. Without a chat model, turns are
stored as they are (`infer=False`). With one, mem0 keeps the facts that the model reads in a session; these have no
turn, and are matched to turns by their words.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.play.systems.contract import Chat, Found, Session
from memory.embedding.embedder import Embedder


class Mem0:
    """A memory of mem0's, which it asks for vectors and replies."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}  # read when the package is imported
        from mem0 import Memory

        self.embedder, self.chat = embedder, chat
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": embedder.dimensions}
        unused = {"provider": "openai", "config": {"api_key": "of no server"}}
        vectors = {"provider": "qdrant", "config": store}
        config = {"vector_store": vectors, "history_db_path": str(folder / "log.db"), "embedder": unused, "llm": unused}
        self._memory: Any = Memory.from_config(config)
        self._memory.embedding_model = self._memory.llm = self

    def embed(self, text: str, memory_action: str) -> list[float]:
        """The vector of a text."""
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str) -> list[list[float]]:
        """The vectors of texts."""
        encode = self.embedder.encode_query if memory_action == "search" else self.embedder.encode_document
        vectors: list[list[float]] = encode(texts).tolist()
        return vectors

    def generate_response(self, messages: Sequence[Mapping[str, str]], **how: object) -> str:
        """The chat model's reply."""
        return self.chat.ask("\n\n".join(message["content"] for message in messages), max_tokens=2000)

    def remember(self, session: Session) -> None:
        """Add each turn, or the facts of the session."""
        infer = self.chat.model is not None
        messages = [{"role": "user", "content": turn.line} for turn in session.turns]
        added = [(messages, "", session.started_at)] if infer else []
        added = added or [([m], t.id, t.said_at) for m, t in zip(messages, session.turns, strict=True)]
        for texts, turn, said_at in added:
            about = {"turn": turn, "said_at": said_at.timestamp() if said_at else 0.0}
            self._memory.add(texts, user_id="user", metadata=about, infer=infer)

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """What mem0 finds of what was said by then, however unlike the question."""
        known = {"user_id": "user", "said_at": {"lte": as_of.timestamp()}}
        results = self._memory.search(question, top_k=k, filters=known, threshold=0.0)["results"]
        return [Found(one["memory"], one["score"], tuple(filter(None, [one["metadata"]["turn"]]))) for one in results]
