"""The models of a replay: embeddings, classifier, chat model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eval.play.embeddings import CachedEmbedder
from graph.models.registry import chat_model_or_none
from graph.understanding.classifier import Classifier
from memory.embedding.embedder import Embedder

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel  # noqa: TC004 (a second to import)

    from eval.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a replay uses; `chat` is None where no chat model is set."""

    embedder: CachedEmbedder
    classifier: Classifier
    chat: BaseChatModel | None = None


def load_models(experiment: Experiment, cache: Path, encoder: Embedder | None = None) -> Models:
    """Load the models of an experiment.

    `encoder` is used where it is given; otherwise the embedding model loads once a text is not in the cache.
    """
    embedder = CachedEmbedder(cache, encoder or Embedder(experiment.embedding_model))
    chat = chat_model_or_none(experiment.pipeline.model, experiment.pipeline.quantization)
    return Models(embedder, Classifier.load(embedding_model=embedder.model), chat)
