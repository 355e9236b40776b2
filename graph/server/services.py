"""Build what a page needs: the chat model, which all users share, and the services and threads of one bank."""

from pathlib import Path

from langchain_core.language_models import BaseChatModel

from graph.learning.learner import Learner
from graph.models.registry import chat_model_or_none
from graph.settings import LearnerEngine, Settings
from graph.state import Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.embedding.embedder import shared
from memory.search.indexer import Indexer
from memory.search.searcher import Searcher
from memory.types import NO_QUOTA, Quota


def load_chat_model(settings: Settings) -> BaseChatModel | None:
    """Return the chat model, if any; a local one takes memory when it is first needed.

    Raises:
        MemoirError: no classifier was trained with the embedding model.
    """
    Classifier.load(settings.embedding_model)  # reported now, not when the first page is opened
    return chat_model_or_none(settings.model, settings.quantization)


def build_services(
    settings: Settings, model: BaseChatModel | None, path: Path, quota: Quota = NO_QUOTA
) -> tuple[Services, Learner]:
    """Build the services over the bank at `path`, and its learner with an indexer: two threads, not started yet."""
    bank = Bank(path, quota)
    embedder = shared(bank.choice("embedding_model", settings.embedding_model))
    indexer, searcher = Indexer(bank, embedder), Searcher(bank, embedder)
    classifier = Classifier.load(embedder.model)
    services = Services(bank, searcher, classifier, settings.pipeline(), model, indexer.wake)
    engine: LearnerEngine = "rules" if settings.demo else settings.learner  # a visitor's tokens are for replies
    return services, Learner(bank, indexer, engine, model)
