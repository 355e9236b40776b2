"""All settings, read from the environment (`MEMOIR_...`) or a `.env` file, with defaults and descriptions."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from pydantic import Field

from graph.models.registry import NONE, Quantization
from memory.search.scoring import SearchSettings
from memory.settings import BankSettings

ClassifierEngine = Literal["learned", "none", "llm", "llm-few-shot"]
CheckEngine = Literal["auto", "model", "none"]
LearnerEngine = Literal["auto", "rules", "llm", "none"]
ReaderEngine = Literal["auto", "extractive", "none"]
Method = Literal["auto", "con", "con-separate", "direct"]
Format = Literal["json", "nl"]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """`alpha` is the weight of the store asked for, `beta` that of the fit (PerLTQA, eq. 3).

    With `classes` "kinds" the equation is as printed: see `graph.nodes.rerank.order_by_kind`.
    """

    alpha: float = 0.0
    beta: float = 0.5
    classes: Literal["stores", "kinds"] = "stores"


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How one turn is answered; every field is a switch of one node.

    - `views`: search with the dialogue before a message, too.
    - `reader`: "auto" is the chat model if one is set, else the extractive reader; "none" only retrieves.
    - `model`: the chat model that reads, and that the classifiers "llm" and "llm-few-shot" ask (see `graph.models`);
      `quantization`: the weights of a local one.
    - `method`: with "auto", a chat model replies to every message in its own words, in at most `reply_tokens`. The
      others are the papers' reading methods, for questions alone: notes and answer in one reply ("con",
      Chain-of-Note), one after the other ("con-separate"), or no notes ("direct"). `format`: memories as JSON or as
      lines ("nl"; Wu et al. 2025, figure 6). `max_words`: the most words of such an answer; 0 sets no limit.
    - `check`: with "model", the chat model is asked once more which sentences of its reply no memory supports; "auto"
      leaves that out where it runs on this CPU, which would take as long as the reply.
    - `learner`: learns facts, events and summaries from finished sessions by "rules" or by the model ("llm"). "auto" is
      the model for chats, if one is set, and rules for what was imported. A replay of a benchmark learns by rules.
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
    method: Method = "auto"
    format: Format = "nl"
    max_words: int = 0
    reply_tokens: int = 1000
    check: CheckEngine = "auto"
    learner: LearnerEngine = "rules"


_SEARCH, _RERANK = SearchSettings(), RerankSettings()


class Settings(BankSettings):
    """The settings of the whole program."""

    host: str = Field("127.0.0.1", description="address the app listens on")
    port: int = Field(7860, ge=0, le=65535, description="port the app listens on")
    auth: bool = Field(False, description="several users log in, each with a bank of their own")
    demo: bool = Field(False, description="serve a public demo: each visitor has a bank until an hour after they leave")
    demo_tokens: int = Field(
        50_000, ge=0, le=10_000_000, description="tokens of the chat model for each visitor of the demo, an hour"
    )
    demo_frame: str = Field(
        "",
        pattern=r"^(https://[\w.*:-]+ ?)*$",
        description="origins whose pages may show the demo in a frame, separated by spaces: https://huggingface.co",
    )
    classifier: ClassifierEngine = Field(
        "learned", description="classifier of messages: learned, none, llm or llm-few-shot"
    )
    views: bool = Field(True, description="search with the dialogue before a message, too")
    model: str = Field(NONE, description="chat model: none, openai:NAME, ADDRESS#NAME, gguf:FILE or hf:REPO_OR_FOLDER")
    quantization: Quantization = Field("auto", description="weights of an hf: model: auto, nf4, int8, bf16, fp32")
    reader: ReaderEngine = Field("auto", description="reader: auto (the chat model, if any), extractive or none")
    method: Method = Field(
        "auto", description="how a chat model reads: auto (every message), or for questions con, con-separate or direct"
    )
    reply_tokens: int = Field(1000, ge=50, le=100_000, description="most tokens of a chat model's reply")
    check: CheckEngine = Field(
        "auto",
        description="who looks in a reply for what no memory supports: model (in a second request), none, or auto (the "
        "model, unless it runs on this CPU)",
    )
    format: Format = Field("nl", description="format of the memories in a chat model's prompt: json or nl (lines)")
    max_words: int = Field(0, ge=0, description="most words of a chat model's answer; 0 sets no limit")
    learner: LearnerEngine = Field(
        "auto",
        description="how finished chats are learned from: auto (the chat model, if any; imports by rules), rules, llm "
        "or none",
    )
    ranker: Literal["postings", "rank-bm25"] = Field("postings", description="engine that scores words")
    k: int = Field(10, ge=1, le=200, description="most candidates of each store")
    dense_weight: float = Field(
        _SEARCH.dense_weight, ge=0, le=1, description="share of meaning in the score; the rest is for words"
    )
    voice: bool = Field(_SEARCH.voice, description="search in the voice of the person a question is about")
    speaker: float = Field(
        _SEARCH.speaker, ge=0, le=2, description="boost for turns spoken by the person a question is about"
    )
    time: float = Field(_SEARCH.time, ge=0, le=2, description="boost for the time asked about")
    neighbours: float = Field(
        _SEARCH.neighbours, ge=0, le=1, description="share of a turn's score that is added to the turns next to it"
    )
    alpha: float = Field(_RERANK.alpha, ge=0, le=1, description="weight of the store asked for, in rerank")
    beta: float = Field(_RERANK.beta, ge=0, le=1, description="weight of the match, in rerank")
    time_filter: bool = Field(True, description="drop candidates outside the time asked about")
    budget: int = Field(20, ge=1, le=200, description="most memories that are read")

    def pipeline(self) -> PipelineSettings:
        """The settings that the nodes read."""
        return PipelineSettings(
            search=SearchSettings(**self._named(SearchSettings)),
            rerank=RerankSettings(**self._named(RerankSettings)),
            **self._named(PipelineSettings),
        )

    def _named(self, group: type) -> dict[str, Any]:
        """The settings that bear the name of a field of this group."""
        return {field.name: getattr(self, field.name) for field in fields(group) if hasattr(self, field.name)}
