"""Split a text into the words and terms that are indexed."""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

import Stemmer

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Chinese and Japanese characters, for a class of a regular expression: they have no spaces between words."""
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’][^\W\d_{CJK}]+)*")
_IS_CJK = re.compile(rf"[{CJK}]")

FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
"""English words of the closed classes: they carry no content in a question."""

MAX_QUERY_TERMS = 64
"""The cost of a search grows with every term, and the rarest terms of a pasted page find as much as all of them."""

_stem = lru_cache(maxsize=100_000)(Stemmer.Stemmer("english", 0).stemWord)


def words(text: str) -> list[str]:
    """The words of a text, lower-cased, in order; a run of Chinese or Japanese characters gives its bigrams."""
    result: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if _IS_CJK.match(word) and len(word) > 1:
            result.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            result.append(word.replace("’", "'"))
    return result


def terms(text: str) -> list[str]:
    """The words as indexed: stemmed (Snowball English), a possessive 's dropped."""
    return [t for w in words(text) for t in [_stem(w.removesuffix("'s")).replace("'", "")] if t]


def content_terms(text: str) -> list[str]:
    """The distinct terms of a text without its function words; all its terms if it has nothing else."""
    content = [w for w in words(text) if w not in FUNCTION_WORDS]
    return list(dict.fromkeys(terms(" ".join(content) or text)))


def content(text: str) -> frozenset[str]:
    """The terms of a text without its function words; digits count."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in FUNCTION_WORDS)))


def query_terms(text: str) -> list[str]:
    """The content terms of a question, at most `MAX_QUERY_TERMS`: the longest, which are likely the rarest."""
    content = content_terms(text)
    # Longer words are rarer (Zipf), and no index look-up is needed; the sort is stable.
    return content if len(content) <= MAX_QUERY_TERMS else sorted(content, key=len, reverse=True)[:MAX_QUERY_TERMS]
