"""Everything that can be set, from the environment (`MEMOIR_...`) or a `.env` file, with default and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from memory.search import SearchSettings
from memory.settings import BankSettings

ClassifierEngine = Literal["learned", "none", "llm", "llm-few-shot"]
ReaderEngine = Literal["extractive", "none"]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """`alpha` weighs what kind of memory is asked for, `beta` how well this one fits (PerLTQA, eq. 3)."""

    alpha: float = 0.5
    beta: float = 0.5


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How one turn is answered; every field is a switch of one node.

    Without a reader nothing is answered: what was found is all there is to see. `model` names the chat model that the
    classifiers "llm" and "llm-few-shot" ask (see `graph.models`).
    """

    classifier: ClassifierEngine = "learned"
    search: SearchSettings = field(default_factory=SearchSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    time_filter: bool = True
    budget: int = 20
    reader: ReaderEngine = "extractive"
    model: str = ""


class Settings(BankSettings):
    """What the environment may say of the whole program."""

    host: str = Field("127.0.0.1", description="address the app listens on")
    port: int = Field(7860, ge=0, le=65535, description="port the app listens on")
    classifier: ClassifierEngine = Field(
        "learned", description="how a question's stores are told: learned, none, llm or llm-few-shot"
    )
    model: str = Field("", description="chat model of the llm classifiers: openai:NAME or ADDRESS#NAME")
    ranker: Literal["postings", "rank-bm25"] = Field("postings", description="who scores words")
    k: int = Field(10, ge=1, le=200, description="candidates of each store")
    dense_weight: float = Field(0.5, ge=0, le=1, description="share of meaning against words")
    neighbours: float = Field(0.4, ge=0, le=1, description="share of its score that a turn lends to those next to it")
    alpha: float = Field(0.5, ge=0, le=1, description="weight of the store asked for, in rerank")
    beta: float = Field(0.5, ge=0, le=1, description="weight of the fit, in rerank")
    time_filter: bool = Field(True, description="whether dates in a question cut the candidates")
    budget: int = Field(20, ge=1, le=200, description="memories that are read")

    def pipeline(self) -> PipelineSettings:
        """The part that the nodes read."""
        return PipelineSettings(
            self.classifier,
            SearchSettings(self.k, self.dense_weight, self.neighbours, self.ranker),
            RerankSettings(self.alpha, self.beta),
            self.time_filter,
            self.budget,
            model=self.model,
        )
