"""Replay what somebody typed over weeks to a chat model, and print what became of messages, memories and replies.

    python -m tests.talk SCRIPT --model NAME --out FOLDER [--needs FILE] [--check NAME]
    python -m tests.talk SCRIPT --out FOLDER --figures      print the figures of a finished replay again

A script has a row of JSON a line: first {"persona": {...}}, then {"chat", "when", "user", "reply": "good" or "bad"}.
NEEDS has rows {"row", "quotes": [{"row", "words", "instead_of"?}]}: the words of earlier messages (numbered from 1)
that matter to a message. The model may be a server whose replies somebody writes; without --model a scripted one
replies "I see.", which is enough for the figures on prompts. FOLDER keeps the bank and a record of each message.
"""

import argparse
import asyncio
import json
import time
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

from langchain_core.callbacks import BaseCallbackHandler
from scipy.stats import binomtest

from graph.assistant import Answer, Assistant
from graph.learning.learner import learn_from_sessions
from graph.models import calls
from graph.models.hosted import model as hosted
from graph.models.registry import chat_model
from graph.settings import Settings
from graph.state import Ask, Services
from graph.understanding.classifier import Classifier
from memory.bank import learning_queue
from memory.bank.bank import Bank
from memory.embedding import minilm
from memory.embedding.embedder import Embedder
from memory.search.indexer import embed_all
from memory.search.searcher import Searcher
from memory.settings import BankSettings
from memory.types import PersonaDraft, TurnDraft
from tests.support.chat_server import ChatServer

ZONE = ZoneInfo("Europe/London")

PATIENCE = 1800.0
"""Seconds for a reply: somebody may write it by hand."""


class Recorder(BaseCallbackHandler):
    """Keeps the prompts of a model and its raw replies."""

    def __init__(self):
        self.prompts, self.replies = [], []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.prompts.append([(message.type, message.text) for message in messages[0]])

    def on_llm_end(self, response, **kwargs):
        self.replies.append(response.generations[0][0].text)


def replay(script, name, folder, check):
    """Say each message of the script, and write a record of each."""
    first, *rows = [json.loads(line) for line in script.read_text("utf-8").splitlines()]
    calls.FIRST_TEXT_SECONDS = calls.TOTAL_SECONDS = hosted.TIMEOUT_SECONDS = PATIENCE
    embedder, model = Embedder(BankSettings().embedding_model), chat_model(name)
    recorder = Recorder()
    model.callbacks = [recorder]
    bank = Bank(folder / "bank.db")
    searcher = Searcher(bank, embedder)
    settings = replace(Settings().pipeline(), model=name, **({"check": check} if check else {}))
    assistant = Assistant(Services(bank, searcher, Classifier.load(embedder.model), settings, model))
    card = first["persona"]
    persona = bank.create_persona(PersonaDraft(**{**card, "traits": tuple(card.get("traits", ()))}))
    dialogue, chat, ended = [], "", None
    with (folder / "records.jsonl").open("w", encoding="utf-8") as records:
        for number, row in enumerate(rows, 1):
            now = datetime.fromisoformat(row["when"]).replace(tzinfo=ZONE)
            if row["chat"] != chat:
                learn(bank, chat, ended, settings, model)
                dialogue, chat = [], row["chat"]
            embed_all(bank, embedder)
            recorder.prompts.clear()
            recorder.replies.clear()
            started = time.monotonic()
            ask = Ask(persona, row["user"], now, f"chat {chat}", tuple(dialogue))
            answer = asyncio.run(answered(assistant, ask))
            reading = answer.reading
            dialogue += [TurnDraft("You", "user", row["user"], now), TurnDraft("", "assistant", reading.answer, now)]
            record = {
                "row": number,
                **row,
                "prompt": recorder.prompts[0] if recorder.prompts else [],
                "calls": len(recorder.prompts),
                "model_reply": recorder.replies[0] if recorder.replies else "",
                "shown": reading.answer,
                "notice": reading.notice,
                "by": reading.by,
                "unsupported": list(reading.unsupported),
                "citations": [[c.number, c.memory.text] for c in reading.citations],
                "stored": answer.stored.memories if answer.stored else 0,
                "seconds": round(time.monotonic() - started, 2),
            }
            records.write(json.dumps(record, ensure_ascii=False) + "\n")
            records.flush()
            ended = now
        learn(bank, chat, ended, settings, model)
    for memory in bank.memories(persona.id):
        if memory.store != "dialogue":
            print(f"learned: {memory.store:12} {memory.text}{' (ended)' if memory.valid_to else ''}")


async def answered(assistant, ask):
    """The answer to a message."""
    async for event in assistant.stream(ask):
        if isinstance(event, Answer):
            return event
    raise AssertionError("no answer")


def learn(bank, chat, ended, settings, model):
    """Learn from a chat that is over, as the app does."""
    if chat:
        learning_queue.close_chats(bank, f"chat {chat}")
        learn_from_sessions(bank, settings.learner, model, now=ended + timedelta(hours=12))


def figures(folder, needs_file):
    """Print what became of the messages, the memories that matter, and the replies."""
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
    told = {record["row"]: record for record in records}
    typed = [record["prompt"] and record["prompt"][-1][1].endswith(record["user"].strip()) for record in records]
    show("messages that reached the model as typed", typed)
    show("messages stored", [record["stored"] > 0 for record in records])
    good = [record for record in records if record["reply"] == "good" and record["model_reply"]]
    said = [record["model_reply"].partition("</notes>") for record in good]  # notes are shown elsewhere
    pairs = zip(good, said, strict=True)
    whole = [bare(record["shown"]) == bare(after or before) for record, (before, _, after) in pairs]
    show("good replies shown whole and in their form", whole)
    for record in (record for record, kept in zip(good, whole, strict=True) if not kept):
        print(f"  row {record['row']}: {record['model_reply'][:200]!r}")
        print(f"    -> {record['shown'][:200]!r} {record['notice']}")
    bad = [record for record in records if record["reply"] == "bad"]
    show("bad replies with a mark", [bool(record["unsupported"]) for record in bad])
    sentences = sum(record["shown"].count(". ") + 1 for record in good)
    marked = [text for record in good for text in record["unsupported"]]
    print(f"marks on good replies: {len(marked)}, of some {sentences} sentences")
    for text in marked:
        print(f"  {text}")
    calls = [record["calls"] for record in records]
    tokenizer = minilm.packaged().tokenizer
    sizes = [[len(tokenizer.encode(text).ids) for _, text in record["prompt"]] for record in records]
    tokens = sorted(map(sum, sizes))
    print(
        f"calls a message: {sum(calls) / len(calls):.2f}; prompt p50/max {tokens[len(tokens) // 2]}/{tokens[-1]} tokens"
    )
    same = [
        share_of_prefix(before["prompt"], after["prompt"])
        for before, after in pairwise(records)
        if before["chat"] == after["chat"]
    ]
    print(f"share of a prompt that begins as the one before it in the chat: {sum(same) / max(1, len(same)):.2f}")
    if needs_file:
        found = []
        for need in map(json.loads, needs_file.read_text("utf-8").splitlines()):
            prompt = bare("\n".join(text for _, text in told[need["row"]]["prompt"]))
            for quote in need["quotes"]:
                if "instead_of" in quote:
                    continue
                ways = [quote, *(q for q in need["quotes"] if q.get("instead_of") == quote["row"])]
                found.append(any(bare(way["words"]) in prompt for way in ways))
                if not found[-1]:
                    print(f"  not in the prompt of row {need['row']}: {quote['words']!r} (row {quote['row']})")
        show("memories that matter in the prompt, by their words", found)


def bare(text):
    """A text without citations, quotation marks' escapes and differences of blanks."""
    without = "".join(
        part.partition("]")[2] if part[:1].isdigit() and "]" in part[:5] else part for part in text.split("[")
    )
    return " ".join(without.replace('\\"', '"').replace("\u200b", "").split())


def share_of_prefix(before, after):
    """The share of a prompt's characters that are the same as in the prompt before, from the beginning."""
    old, new = (json.dumps(prompt, ensure_ascii=False) for prompt in (before, after))
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return same / max(1, len(new))


def show(name, outcomes):
    """Print a share with Wilson's 95 % interval."""
    yes, n = sum(map(bool, outcomes)), len(outcomes)
    low, high = binomtest(yes, n).proportion_ci(method="wilson") if n else (0, 1)
    print(f"{name}: {yes} of {n} [{low:.3f}, {high:.3f}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--needs", type=Path)
    parser.add_argument("--check")
    parser.add_argument("--figures", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if not given.figures and given.model:
        replay(given.script, given.model, given.out, given.check)
    elif not given.figures:
        with ChatServer("I see.", models=[{"id": "scripted", "max_model_len": 8192}]) as server:
            replay(given.script, server.model(), given.out, given.check)
    figures(given.out, given.needs)


if __name__ == "__main__":
    main()
