"""Build what a page needs: the models, which all users share, and the services and threads of one bank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph.learning.learner import Learner
from graph.models.registry import chat_model_or_none
from graph.settings import Settings
from graph.state import Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.indexer import Indexer
from memory.search.searcher import Searcher

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Models:
    """The embedding model, the classifier and the chat model, if any; they hold nobody's memories."""

    embedder: Embedder
    classifier: Classifier
    chat: BaseChatModel | None


@dataclass(frozen=True, slots=True)
class Background:
    """The threads of one bank: the indexer embeds new memories, the learner learns from finished sessions."""

    indexer: Indexer
    learner: Learner


def load_models(settings: Settings) -> Models:
    """Load the classifier; the embedding model and a local chat model load when they are first needed."""
    embedder = Embedder(settings.embedding_model)
    chat = chat_model_or_none(settings.model, settings.quantization)
    return Models(embedder, Classifier.load(embedding_model=embedder.model), chat)


def build_services(settings: Settings, models: Models, path: Path) -> tuple[Services, Background]:
    """Build the services over the bank at `path`, and its threads; opens no file and starts no thread."""
    bank = Bank(path)
    indexer = Indexer(bank, models.embedder)
    searcher = Searcher(bank, models.embedder)
    services = Services(bank, searcher, models.classifier, settings.pipeline(), models.chat, indexer.wake)
    return services, Background(indexer, Learner(bank, indexer, settings.learner, models.chat))
