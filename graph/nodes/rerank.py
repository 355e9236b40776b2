"""The node `rerank`: order the hits by the stores that the question asks about, and by fit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from graph.settings import PipelineSettings, RerankSettings
from graph.state import Runtime, TraceLine, TurnState
from memory.search.scoring import standardise
from memory.types import SEMANTIC, Hit, Store


async def rerank(state: TurnState, runtime: Runtime) -> TurnState:
    """Put the memories most likely to answer the question first."""
    hits = state.get("hits", ())
    if not hits:
        return {}
    classes, settings = state["message"].classes.stores, runtime.context.settings
    by_kind = settings.rerank.classes == "kinds"
    ranked = order_by_kind(hits, classes, settings) if by_kind else order(hits, classes, settings.rerank)
    ordered = merge_events(ranked)
    moved = sum(a.memory.id != b.memory.id for a, b in zip(hits, ordered, strict=True))
    return {"hits": ordered, "trace": (TraceLine("rerank", f"{moved} of {len(hits)} candidates moved"),)}


def order(hits: Sequence[Hit], classes: Mapping[Store, float], settings: RerankSettings) -> tuple[Hit, ...]:
    """Order by s' = alpha * P(store | question) + beta * sigmoid(s) (PerLTQA, Du et al. 2024, eq. 3).

    `s` is the fused score standardised over the candidates that are read: the paper's BM25 and DPR scores spread over
    many units, fused ones over less than one, where a sigmoid is nearly flat and the class alone would decide.
    """
    fused = np.array([hit.score for hit in hits])
    read = np.array([hit.score for hit in hits if hit.kept])
    fit = np.exp(-np.logaddexp(0.0, -standardise(fused, read)))  # a sigmoid that does not overflow
    found = enumerate(zip(hits, fit.tolist(), strict=True), 1)
    return _best_first(_scored(hit, place, classes[hit.memory.store], value, settings) for place, (hit, value) in found)


def _scored(hit: Hit, place: int, of_class: float, fit: float, settings: RerankSettings) -> Hit:
    """The hit at a place of the search, with its score by eq. 3 and what that was computed from."""
    score = settings.alpha * of_class + settings.beta * fit
    ranked = {"found": place, "class": round(of_class, 4), "fit": round(fit, 4), "rerank": round(score, 4)}
    return replace(hit, score=score, scores={**hit.scores, **ranked})


def _best_first(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits by score, those that were dropped last."""
    return tuple(sorted(hits, key=lambda hit: (not hit.kept, -hit.score)))


def order_by_kind(hits: Sequence[Hit], classes: Mapping[Store, float], settings: PipelineSettings) -> tuple[Hit, ...]:
    """Order by eq. 3 as it is printed (PerLTQA, Du et al. 2024, section 3.4).

    It has two classes, semantic and episodic memory; the k best of each are the 2k candidates, and the rest is ranked
    after them. `s` is the retriever's own score: BM25 or the cosine where one of them retrieves alone, else the fused
    score.
    """
    retriever = {0.0: "lexical", 1.0: "dense"}.get(settings.search.dense_weight, "")
    semantic = sum(share for store, share in classes.items() if store in SEMANTIC)
    left = {True: settings.search.k, False: settings.search.k}
    scored = []
    for place, hit in enumerate(sorted(hits, key=lambda hit: -hit.score), 1):
        is_semantic = hit.memory.store in SEMANTIC
        of_class = semantic if is_semantic else 1 - semantic
        fit = float(1 / (1 + np.exp(-hit.scores.get(retriever, hit.score))))
        changed = _scored(hit, place, of_class, fit, settings.rerank)
        if hit.kept and not left[is_semantic]:
            why = f"not among the {settings.search.k} best of its class"
            changed = replace(changed, dropped="rank", why=why)
        left[is_semantic] -= changed.kept
        scored.append(changed)
    return _best_first(scored)


def merge_events(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Drop events whose turn is a hit, too, and give the turn the higher score: each turn is read once."""
    dialogue = {hit.memory.turn_ids: hit for hit in hits if hit.kept and hit.memory.store == "dialogue"}
    raised: dict[int, float] = {}
    kept = []
    for hit in hits:
        turn = dialogue.get(hit.memory.turn_ids) if hit.kept and hit.memory.store == "event" else None
        if turn is not None and hit.memory.turn_ids:
            raised[turn.memory.id] = max(hit.score, turn.score, raised.get(turn.memory.id, 0.0))
            kept.append(replace(hit, dropped="echo", why=f"duplicate of memory {turn.memory.id}"))
        else:
            kept.append(hit)
    return _best_first(replace(hit, score=raised.get(hit.memory.id, hit.score)) for hit in kept)
