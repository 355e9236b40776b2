"""Everything that can be set, from the environment (`MEMOIR_...`) or a `.env` file, with default and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from pydantic import Field

from graph.models.names import NONE
from graph.models.quantization import Quantization
from memory.search.scoring import SearchSettings
from memory.settings import BankSettings

ClassifierEngine = Literal["learned", "none", "llm", "llm-few-shot"]
LearnerEngine = Literal["rules", "llm", "none"]
ReaderEngine = Literal["auto", "extractive", "none"]
Method = Literal["con", "con-separate", "direct"]
Format = Literal["json", "nl"]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """`alpha` weighs what kind of memory is asked for, `beta` how well this one fits (PerLTQA, eq. 3)."""

    alpha: float = 0.05
    beta: float = 0.5


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How one turn is answered; every field is a switch of one node.

    `views` says whether a message is looked up together with the dialogue before it, too.
    The `reader` "auto" is the chat model where one is named and the extractive reader elsewhere; with "none" nothing is
    answered: what was found is all there is to see. `model` names the chat model that reads, and that the classifiers
    "llm" and "llm-few-shot" ask (see `graph.models`), `quantization` how a local one's weights are held. It reads by
    `method`: notes and answer in one reply ("con", Chain-of-Note), one after the other ("con-separate"), or without
    notes ("direct"); memories are put to it in `format`, JSON or sentences ("nl"; Wu et al. 2025, figure 6).
    `learner` draws facts, events and summaries from sessions that are over: "rules", "llm" (the model), or nobody.
    """

    classifier: ClassifierEngine = "learned"
    views: bool = True
    search: SearchSettings = field(default_factory=SearchSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    time_filter: bool = True
    budget: int = 20
    reader: ReaderEngine = "auto"
    model: str = NONE
    quantization: Quantization = "auto"
    method: Method = "con"
    format: Format = "json"
    learner: LearnerEngine = "rules"


_SEARCH, _RERANK = SearchSettings(), RerankSettings()


class Settings(BankSettings):
    """What the environment may say of the whole program."""

    host: str = Field("127.0.0.1", description="address the app listens on")
    port: int = Field(7860, ge=0, le=65535, description="port the app listens on")
    auth: bool = Field(False, description="whether users log in, each to a bank of their own")
    classifier: ClassifierEngine = Field(
        "learned", description="how a question's stores are told: learned, none, llm or llm-few-shot"
    )
    views: bool = Field(True, description="whether what was said before is looked up with a message")
    model: str = Field(NONE, description="chat model: none, openai:NAME, ADDRESS#NAME or hf:REPO_OR_FOLDER")
    quantization: Quantization = Field("auto", description="weights of a local model: auto, nf4, int8, bf16, fp32")
    reader: ReaderEngine = Field("auto", description="who reads: auto (the chat model, if any), extractive or none")
    method: Method = Field("con", description="how a chat model reads: con, con-separate or direct")
    format: Format = Field("json", description="how memories are put to it: json or nl")
    learner: LearnerEngine = Field("rules", description="who learns from talk that is over: rules, llm or none")
    ranker: Literal["postings", "rank-bm25"] = Field("postings", description="who scores words")
    k: int = Field(10, ge=1, le=200, description="candidates of each store")
    dense_weight: float = Field(_SEARCH.dense_weight, ge=0, le=1, description="share of meaning against words")
    coverage: float = Field(
        _SEARCH.coverage, ge=0, le=1, description="how much of that share words get where one memory holds them all"
    )
    length: float = Field(_SEARCH.length, ge=0, le=1, description="what a longer memory counts more")
    voice: bool = Field(_SEARCH.voice, description="whether a question is put in the words of who it is about")
    speaker: float = Field(_SEARCH.speaker, ge=0, le=2, description="what the words of who it is about count more")
    time: float = Field(_SEARCH.time, ge=0, le=2, description="what the time asked about counts more")
    neighbours: float = Field(
        _SEARCH.neighbours, ge=0, le=1, description="share of its score that a turn lends to those next to it"
    )
    session: float = Field(_SEARCH.session, ge=0, le=1, description="what the best session lends to its turns")
    alpha: float = Field(_RERANK.alpha, ge=0, le=1, description="weight of the store asked for, in rerank")
    beta: float = Field(_RERANK.beta, ge=0, le=1, description="weight of the fit, in rerank")
    time_filter: bool = Field(True, description="whether dates in a question cut the candidates")
    budget: int = Field(20, ge=1, le=200, description="memories that are read")

    def pipeline(self) -> PipelineSettings:
        """The part that the nodes read."""
        return PipelineSettings(
            self.classifier,
            self.views,
            SearchSettings(**{f.name: getattr(self, f.name) for f in fields(SearchSettings) if hasattr(self, f.name)}),
            RerankSettings(self.alpha, self.beta),
            self.time_filter,
            self.budget,
            model=self.model,
            quantization=self.quantization,
            reader=self.reader,
            method=self.method,
            format=self.format,
            learner=self.learner,
        )
