"""Find the phrases of a text that name a time: match the rules, extend by the words around, join ranges.

Whether a time lies in the past or ahead is told by the verbs around it: "we moved in March", "we're moving in March". A
past form makes a clause one of the past: English has some two hundred irregular ones and the ending -ed, while its
present forms look like any other word ("exams start on the 18th"). A clause without a verb announces something
("dentist on friday").
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cache

from memory.dates.calendar import PATTERNS, WORDS, Stretch, Tense
from memory.dates.chinese import CHINESE_RULES
from memory.dates.english import ENGLISH_RULES
from memory.dates.modifiers import PREFIXES, SUFFIXES
from memory.dates.rules import CONTEXTS, LOOK_BACK, WORD_START, Kind, Match, Resolve, Rule, compile_pattern

MAX_EXPRESSIONS = 100  # in one text; a longer text is read up to the hundredth
MAX_SENTENCE = 300  # characters looked at on each side of an expression

HINT_WORDS = frozenset(WORDS["hints"].split())
HINT_SIGNS, HAS_CHINESE, LETTERS, SENTENCE_END, CHINESE_FUTURE_CUE = map(re.compile, PATTERNS["phrases"].values())

IRREGULAR_PASTS, OTHER_ED, TIME_WORDS = (
    frozenset(WORDS[name].split()) for name in ("irregular_pasts", "other_ed", "time_words")
)

SIGNS = {name: compile_pattern(pattern, " ") for name, pattern in PATTERNS["tense"].items()}
"""The patterns of words and clauses that tell a tense, by name."""

MAX_VERBLESS_WORDS = 2
"""Words of a clause that has no verb ("then Rome in May")."""
FUTURE_SIGNS = (SIGNS["ahead"], SIGNS["now_planned"], SIGNS["progressive"])

RULES = {"english": (ENGLISH_RULES, WORD_START), "chinese": (CHINESE_RULES, "")}
"""The rules of a language, and what begins all of them."""


@cache
def _starts(language: str) -> re.Pattern[str]:
    """Compile a pattern that matches where any rule may; what begins all rules comes in front for speed."""
    rules, lead = RULES[language]
    patterns = (re.sub(r"\?P<\w+>", "?:", rule.pattern.pattern).removeprefix(lead) for rule in rules)
    return re.compile(f"{lead}(?:{'|'.join(patterns)})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words from `start` to `end` of a text, which name a time, and the tense of their sentence."""

    start: int
    end: int
    resolve: Resolve
    kind: Kind
    tense: Tense

    def at(self, now: datetime) -> Stretch | None:
        """What the words mean when said at a moment; None beyond the ends of the calendar."""
        try:
            return self.resolve(now, self.tense)
        except (ValueError, OverflowError):
            return None


def read_phrases(text: str, now: datetime, zone: tzinfo) -> list[Phrase]:
    """The phrases of a text that name a time, left to right, without overlap; `now` is local time in `zone`."""
    if not HINT_SIGNS.search(text) and HINT_WORDS.isdisjoint(LETTERS.findall(text.lower())):
        return []
    phrases = _locate(text, zone, "english")
    if HAS_CHINESE.search(text):
        phrases = sorted([*phrases, *_locate(text, zone, "chinese")], key=lambda phrase: phrase.start)
    return _join_ranges(text, _extend(text, phrases[:MAX_EXPRESSIONS], now), now)


def _locate(text: str, zone: tzinfo, language: str) -> list[Phrase]:
    starts, (rules, _) = _starts(language), RULES[language]
    phrases: list[Phrase] = []
    position = 0
    while len(phrases) < MAX_EXPRESSIONS and (candidate := starts.search(text, position)):
        position = candidate.start() + 1
        for rule in rules:
            match = rule.pattern.match(text, candidate.start())
            resolve = _read(rule, match, zone) if match else None
            if match and resolve:
                tense = _tense(text, match.start(), match.end())
                phrases.append(Phrase(match.start(), match.end(), resolve, rule.kind, tense))
                position = match.end()
                break
    return phrases


def _read(rule: Rule, match: Match, zone: tzinfo) -> Resolve | None:
    """What resolves a match, to the speaker's own time zone where the words name another."""
    try:
        resolve = rule.read(match)
    except (ValueError, OverflowError):  # a day or a year that the calendar does not have
        return None

    def local(now: datetime, tense: Tense) -> Stretch | None:
        stretch: Stretch | None = resolve(now, tense)
        if stretch is None or stretch.start.tzinfo is None:
            return stretch
        start, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (stretch.start, stretch.end))
        return replace(stretch, start=start, end=end)

    return resolve and local


def _tense(text: str, start: int, end: int) -> Tense:
    first = max(0, start - MAX_SENTENCE)
    for stop in SENTENCE_END.finditer(text, first, start):
        first = stop.end()
    stop_after = SENTENCE_END.search(text, end, end + MAX_SENTENCE)
    last = stop_after.start() if stop_after else end + MAX_SENTENCE
    if HAS_CHINESE.search(text, first, last):
        return "future" if CHINESE_FUTURE_CUE.search(text, first, last) else "past"
    return _tense_of(text[first:start], text[end:last])


def _tense_of(before: str, after: str) -> Tense:
    """The tense of a sentence at a time in it, from the words before and after the time.

    In the clause around the time, the nearest verb before it decides, else the nearest after it. A clause without a
    verb takes the tense of the one before it; one of at most a word ("on friday, we left") that of the next. A sentence
    without a verb is in the present tense, and of a time that stands alone none is told.
    """
    if SIGNS["begins"].match(f"{before} {after}"):
        return "future"
    if all(word.lower() in TIME_WORDS or word[0].isdigit() for word in SIGNS["word"].findall(f"{before} {after}")):
        return "untold"
    if SIGNS["since"].search(before) and not SIGNS["because"].match(after):
        return "past"
    head, tail = SIGNS["clause_end"].split(before), SIGNS["clause_end"].split(after)
    if SIGNS["set_for"].search(head[-1]) or (
        SIGNS["for"].search(head[-1]) and not SIGNS["spends_time"].search(head[-1])
    ):
        return "future"
    words = len(SIGNS["word"].findall(f"{head[-1]} {tail[0]}"))
    others = (
        (*tail[1:], *reversed(head[:-1])) if words <= 1 else reversed(head[:-1]) if words <= MAX_VERBLESS_WORDS else ()
    )
    tenses = [_tense_of_clause(head[-1]), _tense_of_clause(tail[0], first=True), *map(_tense_of_clause, others)]
    return next(filter(None, tenses), "present")


def _tense_of_clause(clause: str, *, first: bool = False) -> Tense | None:
    """The tense of the last, or the first, verb of a clause; None if none is recognised."""
    ahead = [match.span() for sign in FUTURE_SIGNS for match in sign.finditer(clause)]
    covered = [*ahead, *(match.span() for match in SIGNS["passive"].finditer(clause))]
    past = [
        match.span()
        for match in SIGNS["word"].finditer(clause)
        if _is_past_form(match[0]) and not any(start <= match.start() < end for start, end in covered)
    ]
    if not ahead and not past:
        return "present" if SIGNS["present"].search(clause) else None
    nearest = min([*ahead, *past]) if first else max([*ahead, *past])
    return "future" if nearest in ahead else "past"


def _is_past_form(word: str) -> bool:
    """Whether a word looks like a past form or a participle."""
    lower = word.lower().replace("’", "'")
    return lower in IRREGULAR_PASTS or (lower.endswith("ed") and lower not in OTHER_ED)


def _extend(text: str, phrases: list[Phrase], now: datetime) -> list[Phrase]:
    """Extend each phrase by the modifiers around it; an earlier phrase that is part of a modifier is dropped."""
    wide: list[Phrase] = []
    for phrase in phrases:
        if wide and phrase.start < wide[-1].end:
            continue
        wider = _take_prefixes(text, _take_suffixes(text, phrase, now), now)
        while wide and wider.start <= wide[-1].start:
            wide.pop()
        wide.append(phrase if wide and wider.start < wide[-1].end else wider)
    return wide


def _take_suffixes(text: str, phrase: Phrase, now: datetime) -> Phrase:
    for suffix in SUFFIXES:
        match = suffix.pattern.match(text, phrase.end) if suffix.kind in ("any", phrase.kind) else None
        if match:
            wider = replace(phrase, end=match.end(), resolve=suffix.read(match, phrase.resolve))
            phrase = wider if wider.at(now) else phrase
    return phrase


def _take_prefixes(text: str, phrase: Phrase, now: datetime) -> Phrase:
    """Extend a phrase by the modifiers before it, nearest first, until none fits."""
    for prefix in PREFIXES:
        near = max(0, phrase.start - LOOK_BACK)
        match = prefix.pattern.search(text, near, phrase.start) if prefix.kind in ("any", phrase.kind) else None
        if match:
            wider = replace(phrase, start=match.start(), resolve=prefix.read(match, phrase.resolve))
            if wider.at(now):
                return _take_prefixes(text, wider, now)
    return phrase


def _join_ranges(text: str, phrases: list[Phrase], now: datetime) -> list[Phrase]:
    """Join two phrases that are the ends of a range ("between March and May", "7 May to 9 June")."""
    joined: list[Phrase] = []
    for phrase in phrases:
        link = CONTEXTS["join"].fullmatch(text, joined[-1].end, phrase.start) if joined else None
        joined += _as_range(text, joined.pop(), phrase, link, now) if link else [phrase]
    return joined


def _as_range(text: str, first: Phrase, last: Phrase, link: Match, now: datetime) -> list[Phrase]:
    """The range as one phrase; both phrases where they form none; nothing for a habit ("Monday to Friday")."""
    opening = CONTEXTS["between"].search(text, max(0, first.start - LOOK_BACK), first.start)
    if link["and"] and not (opening and opening[0].lower().startswith("between")):
        return [first, last]
    if not opening and CONTEXTS["weekday"].fullmatch(text, first.start, first.end):
        return []
    period = Phrase(opening.start() if opening else first.start, last.end, _range_of(first, last), "plain", last.tense)
    return [period] if period.at(now) else [first, last]


def _range_of(first: Phrase, last: Phrase) -> Resolve:
    """Resolve from the first time through the last; an end without a year takes it from the other end."""

    def resolve(now: datetime, tense: Tense) -> Stretch | None:
        beginning, ending = first.at(now), last.at(now)
        if beginning and ending and first.kind == "recurring":
            beginning = first.resolve(ending.end - timedelta(seconds=1), "past")
        elif beginning and ending and last.kind == "recurring":
            ending = last.resolve(beginning.start, "future")
        if not beginning or not ending or beginning.start >= ending.start:
            return None
        return Stretch(beginning.start, ending.end, "span", beginning.sure and ending.sure)

    return resolve
