"""The phrases of a text that name a time: found by the rules, widened by the words beside them, joined into ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from memory.dates.calendar import Leaning, Stretch
from memory.dates.chinese import CHINESE_RULES
from memory.dates.english.calendar_words import CALENDAR_RULES
from memory.dates.english.modifiers import LEAD_INS, TRAILERS
from memory.dates.english.relative_words import RELATIVE_RULES
from memory.dates.rules import LOOK_BACK, TO, WEEKDAY, WORD_START, Kind, Match, Resolve, Rule, compiled

MAX_EXPRESSIONS = 100  # in one text; a longer text is read up to the hundredth
LONGEST_SENTENCE = 300  # characters looked at on each side of an expression

# A text with none of these words, no digit and no Chinese names no time; to see that takes ten microseconds.
HINT_WORDS = frozenset(
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october "
    "nov november dec december mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat "
    "saturday sun sunday spring summer fall autumn winter christmas xmas halloween thanksgiving easter twenties "
    "thirties forties fifties sixties seventies eighties nineties yesterday today tomorrow tonight day days night "
    "week weeks weekend month quarter year years decade morning afternoon evening ago back now recently lately "
    "minutes hours nights weekends fortnights months decades".split()
)
HINT_SIGNS = re.compile(r"[\d一-鿿]")
HAS_CHINESE = re.compile(r"[一-鿿]")
LETTERS = re.compile(r"[a-z]+")


def _spots(rules: tuple[Rule, ...], lead: str) -> re.Pattern[str]:
    """Compile where any rule may match; `lead` is what each begins with, taken out in front for speed."""
    return re.compile(lead + "(?:" + "|".join(_unnamed(rule).removeprefix(lead) for rule in rules) + ")", re.IGNORECASE)


def _unnamed(rule: Rule) -> str:
    return re.sub(r"\?P<\w+>", "?:", rule.pattern.pattern)


ENGLISH_RULES = (*CALENDAR_RULES, *RELATIVE_RULES)
ENGLISH_SPOT = _spots(ENGLISH_RULES, WORD_START)
CHINESE_SPOT = _spots(CHINESE_RULES, "")
SENTENCE_END = re.compile(r"[.!?\n。！？]")
LOOKS_AHEAD = re.compile(
    r"\b(?:will|shall|won['’]t|tomorrow|upcoming|gonna|(?<!was )(?<!were )going to"
    r"|plan(?:s|ning)? (?:to|on|for)|look(?:s|ing)? forward"
    r"|can['’]t wait|hop(?:e|ing) to)\b|['’]ll\b|打算|计划|准备"
)
BETWEEN = compiled(r"\b(?:between|from) \Z")
A_WEEKDAY = compiled(WEEKDAY)
JOIN = compiled(rf"(?:{TO}| (?P<and>and) )(?:the )?")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words from `start` to `end` of a text that name a time, and the way their sentence leans."""

    start: int
    end: int
    resolve: Resolve
    kind: Kind
    leaning: Leaning

    def at(self, now: datetime) -> Stretch | None:
        """Give what the words mean at a moment, or None where that is past the calendar's ends."""
        try:
            return self.resolve(now, self.leaning)
        except (ValueError, OverflowError):
            return None


def read_phrases(text: str, now: datetime, zone: tzinfo) -> list[Phrase]:
    """Find the phrases of a text that name a time, left to right, apart; `now` is wall time in `zone`."""
    if not HINT_SIGNS.search(text) and HINT_WORDS.isdisjoint(LETTERS.findall(text.lower())):
        return []
    phrases = _locate(text, zone, ENGLISH_SPOT, ENGLISH_RULES)
    if HAS_CHINESE.search(text):
        phrases = sorted([*phrases, *_locate(text, zone, CHINESE_SPOT, CHINESE_RULES)], key=lambda phrase: phrase.start)
    return _join(text, _widen(text, phrases[:MAX_EXPRESSIONS], now), now)


def _locate(text: str, zone: tzinfo, spots: re.Pattern[str], rules: tuple[Rule, ...]) -> list[Phrase]:
    phrases: list[Phrase] = []
    position = 0
    while len(phrases) < MAX_EXPRESSIONS and (spot := spots.search(text, position)):
        position = spot.start() + 1
        for rule in rules:
            match = rule.pattern.match(text, spot.start())
            resolve = _read(rule, match, zone) if match else None
            if match and resolve:
                leaning = _leaning(text, match.start(), match.end())
                phrases.append(Phrase(match.start(), match.end(), resolve, rule.kind, leaning))
                position = match.end()
                break
    return phrases


def _read(rule: Rule, match: Match, zone: tzinfo) -> Resolve | None:
    try:
        resolve = rule.read(match)
    except (ValueError, OverflowError):  # a day or a year that the calendar does not have
        return None
    return resolve and (lambda now, leaning: _on_the_wall(resolve(now, leaning), zone))


def _on_the_wall(stretch: Stretch | None, zone: tzinfo) -> Stretch | None:
    """Give a stretch whose words named a zone in the speaker's own."""
    if stretch is None or stretch.start.tzinfo is None:
        return stretch
    start, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (stretch.start, stretch.end))
    return replace(stretch, start=start, end=end)


def _leaning(text: str, start: int, end: int) -> Leaning:
    first = max(0, start - LONGEST_SENTENCE)
    for stop in SENTENCE_END.finditer(text, first, start):
        first = stop.end()
    stop_after = SENTENCE_END.search(text, end, end + LONGEST_SENTENCE)
    last = stop_after.start() if stop_after else end + LONGEST_SENTENCE
    return "future" if LOOKS_AHEAD.search(text, first, last) else "past"


def _widen(text: str, phrases: list[Phrase], now: datetime) -> list[Phrase]:
    """Take in the words beside each time that change it, and the times that are part of those words."""
    wide: list[Phrase] = []
    for phrase in phrases:
        if wide and phrase.start < wide[-1].end:
            continue
        wider = _take_lead_ins(text, _take_trailers(text, phrase, now), now)
        while wide and wider.start <= wide[-1].start:
            wide.pop()
        wide.append(phrase if wide and wider.start < wide[-1].end else wider)
    return wide


def _take_trailers(text: str, phrase: Phrase, now: datetime) -> Phrase:
    for trailer in TRAILERS:
        match = trailer.pattern.match(text, phrase.end) if phrase.kind in trailer.kinds else None
        if match:
            wider = replace(phrase, end=match.end(), resolve=trailer.wrap(match, phrase.resolve))
            phrase = wider if wider.at(now) else phrase
    return phrase


def _take_lead_ins(text: str, phrase: Phrase, now: datetime) -> Phrase:
    """Take in the words before a time, nearest first, until none goes with it."""
    for lead_in in LEAD_INS:
        near = max(0, phrase.start - LOOK_BACK)
        match = lead_in.pattern.search(text, near, phrase.start) if phrase.kind in lead_in.kinds else None
        if match:
            wider = replace(phrase, start=match.start(), resolve=lead_in.wrap(match, phrase.resolve))
            if wider.at(now):
                return _take_lead_ins(text, wider, now)
    return phrase


def _join(text: str, phrases: list[Phrase], now: datetime) -> list[Phrase]:
    """Make one phrase of two that are the ends of a range ("between March and May", "7 May to 9 June")."""
    joined: list[Phrase] = []
    for phrase in phrases:
        link = JOIN.fullmatch(text, joined[-1].end, phrase.start) if joined else None
        if link:
            joined += _as_range(text, joined.pop(), phrase, link, now)
        else:
            joined.append(phrase)
    return joined


def _as_range(text: str, first: Phrase, last: Phrase, link: Match, now: datetime) -> list[Phrase]:
    """Give the range, or the two phrases where they make none, or nothing for a habit ("Monday to Friday")."""
    opening = BETWEEN.search(text, max(0, first.start - LOOK_BACK), first.start)
    if link["and"] and not (opening and opening[0].lower().startswith("between")):
        return [first, last]
    if not opening and A_WEEKDAY.fullmatch(text, first.start, first.end):
        return []
    whole = Phrase(opening.start() if opening else first.start, last.end, _range_of(first, last), "plain", last.leaning)
    return [whole] if whole.at(now) else [first, last]


def _range_of(first: Phrase, last: Phrase) -> Resolve:
    """Give the resolver from one time through another; an end without a year takes it from the other end."""

    def resolve(now: datetime, leaning: Leaning) -> Stretch | None:
        ending = last.at(now)
        beginning = first.at(now)
        if not beginning or not ending:
            return None
        if first.kind == "recurring":
            beginning = first.resolve(ending.end - timedelta(seconds=1), "past")
        elif last.kind == "recurring":
            ending = last.resolve(beginning.start, "future")
        if not beginning or not ending or beginning.start >= ending.start:
            return None
        return Stretch(beginning.start, ending.end, "span", beginning.sure and ending.sure)

    return resolve
