"""Tell by its form whether an English sentence asks or states.

English marks a question by its first words: a question word with an auxiliary after it ("where do I work", "what's her
name"), or an auxiliary before its subject ("did she call"). Those words are of closed classes, so they can be listed;
people who type in lower case, without question marks and apostrophes, keep their order.
"""

from __future__ import annotations

import re
from typing import Literal

from graph.learning.fact_slots import KNOWN_NAME
from memory.dates.english.tense import is_past_form

Form = Literal["question", "statement", "unclear"]

_OPENING = re.compile(
    r"\W*(?:(?:oh|ok|okay|so|well|and|n|but|hey|hi|hello|um+|uh+|hm+|ugh|lol|haha+|btw|by the way|anyway|anyways"
    r"|right|now"
    r"|also|wait|sorry|please|pls|then|just|actually|yes|yeah|yep|no|nope|quick question|quick one|again|good question"
    r"|one more thing|another thing|one question|omg|wow|damn|like|tbh|honestly|cool|great|perfect|thanks|thank you|thx"
    r"|cheers|mate|random|just wondering)[,:;.!… -]+)*(?:\w+, )?",
    re.IGNORECASE,
)
"""What people say before they come to the point, and whom they address."""
LONGEST_READ = 300
"""Characters of a sentence, after its opening, in which its form shows."""

_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|shall|might|must"
    r"|(?:is|are|was|were|do|does|did|have|has|had|could|would|should)n'?t|can'?t|won'?t|ain'?t)"
)
_PRONOUN = (
    r"(?:i|you|u|he|she|it|we|they|there|this|that|these|those|anyone|anybody|someone|somebody|everyone|everybody)"
)
_POSSESSIVE = r"(?:my|your|ur|his|her|its|our|their)"
_NOUN_PHRASE = rf"(?:{_PRONOUN}|{_POSSESSIVE} [\w'-]+|the [\w'-]+|an? [\w'-]+)"
_QUESTION_WORD = r"(?:what|who|whom|whose|which|when|where|why|how)"

_ASKING_FIRST = re.compile(rf"(?:{_QUESTION_WORD}|{_AUXILIARY})\b", re.IGNORECASE)
_ASKED = r"(?:(?:what|who|where|when|how)'?s?|whom|whose|which|why)"

_QUESTION_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # A question word and an auxiliary, at once or after what is asked for: "how many cats do I have".
        r"(?:what|who|where|when|how|why|which)(?:'?s|'re|'d|'ll)\b(?! (?:more|worse|better)\b)",
        rf"{_QUESTION_WORD} (?:(?:the hell|on earth|exactly|again|else|all) )?{_AUXILIARY}\b",
        r"(?:in|on|at|for|from|to|with|about|of|by|since|until) (?:what|which|who|whom|whose|when|where)\b"
        rf".*\b{_AUXILIARY}\b",
        rf"(?:what|which|whose|how (?:many|much|long|old|often|far|big|tall|late|early|good|bad|well)) "
        rf"(?:(?!(?:{_PRONOUN}|a|an)\b)[\w'-]+ ){{0,5}}{_AUXILIARY}\b",
        # "Who called me", "which doctor saw her": the question word is the subject.
        rf"(?:who|which [\w'-]+|what) (?!(?:{_NOUN_PHRASE}|knew|knows|cares|cared|a|an|if)\b)[a-z]+ \w+",
        r"(?:how come|how about|what about|why not|what (?:day|time|year|date|month)|how (?:many|much|long|old"
        r"|often))\b",
        # An auxiliary before its subject.
        rf"{_AUXILIARY} {_PRONOUN}\b(?! (?:day|time|one|week|weekend|evening|morning|month|year)\b)",
        rf"(?!(?:had|have|did|do)\b){_AUXILIARY} (?:{_POSSESSIVE}|the|any|all|both) [\w'-]+ \w+",
        rf"did (?:{_POSSESSIVE}|the|any|all|both) [\w'-]+ (?:(?:ask|buy|call|come|eat|find|get|give"
        rf"|go|have|know|leave"
        r"|like|look|make|move|need|pay|pass|say|see|sell|send|start|stop|take|tell|try|visit|want|work|write)\b)",
        r"(?:is|was|does|has) (?-i:[A-Z])[\w'-]+ \w+|(?:are|were|do|did|have|will|can) (?-i:[A-Z])[\w'-]+ and \w+ \w+",
        rf"(?:is|was|does|did|has|will|can) {KNOWN_NAME} (?!and\b|with\b)\w+",
        # An order to answer.
        rf"(?:tell|show|give) (?:me|us) (?:about|{_ASKED}|if|everything|something|anything|all|again|the|my)\b",
        rf"remind me (?:about|of|{_ASKED})\b|remember {_ASKED}\b",
        r"(?:list|name|summari[sz]e|recap|describe) (?:me )?(?:all|every|everything|my|the|what|some|any|our)\b",
        r"(?:any idea|d'?you (?:know|remember)|(?:i'?d|i would) (?:like|love) to know)\b",
        rf"(?:i|i've|ive) (?:can'?t remember|don'?t remember|forgot|forget|keep forgetting"
        rf"|forgotten) (?:{_ASKED}|if)\b(?! (?:hard|good|nice|much)\b)",
        rf"i(?:'?m| was|'?ve been)?(?: just)? wonder(?:ing)? {_ASKED}\b|(?:i )?(?:need|want) to know (?:{_ASKED}|if)\b",
        # A question word in its place: "the meeting is at what time".
        r".*\b(?:is|are|was|were)(?: at| on| in)? (?:when|where|who|what(?: time| day| date)?|how (?:much|many|old))"
        r"(?: again)?\W*\Z",
    )
)

_EXCLAMATION = re.compile(
    r"(?:guess|wonder) (?:what|who|where|how|which)\b|who (?:knew|cares)\b|what an? "
    r"|how (?:lovely|nice|cool|sweet|funny|sad)\b|how is it (?:already|only|still)\b",
    re.IGNORECASE,
)

_STATEMENT_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _EXCLAMATION.pattern,
        r"remind me to\b|remember (?:that|to|this|i|my|it'?s)\b|(?:i'?ll|let me) tell you\b",
        # A question word that joins: "when i got home ...", "what i like about it is ...".
        r"(?:when|where|what|who|why|how|which) (?:i|he|she|we|they|it|my|our|his|their|i'?m|we'?re|i'?ve)\b",
        # A clause that only looks like a question: "which was nice", "what matters most is that he's safe".
        r"which (?:is why|was (?:an?|nice|great|good|bad|fun|hard|so|really))\b|(?:in which case|at which point)\b"
        r"|what (?:matters|happened|[a-z]+(?:s|ed) (?:me|us|him|her|them))\b.*\b(?:is|was)\b|who would(?: have"
        r"|'ve) thought\b|can you believe\b",
        # A dropped subject: "had a long day", "can't wait for friday", "was at the dentist".
        r"(?:had|have|has|did|was|were|will|would|could|might|am|is|do|can) (?:to|an?|some|been|so|not|no|at|in"
        r"|on|off|out"
        r"|too|really|very|just|lots|loads|great|good|bad|fun|love|use|be|go|get|come)\b",
        r"(?:had|have) (?:it|this|that|everyone|everybody|someone|somebody)\b|do (?:it|this|that)\b"
        r"|did (?:it|this|that)(?:\W*\Z|,| (?:all|again|yesterday|today|every|once|twice|myself)\b)"
        r"|was there (?:until|till|all|at|for|from)\b|were (?:all|both|the only)\b"
        r"|(?:was|is) (?:the|my|our|his|her) (?:best|worst|first|last|only|turn|birthday|whole)\b",
        r"can'?t (?:wait|believe|stand|sleep|stop|even|complain)\b|won'?t be\b",
        r"(?:don|haven|hasn|hadn|didn|wasn|isn)'?t (?!(?:i|you|he|she|it|we|they|that|this|there|my|the)\b)\w+",
    )
)
"""What begins like a question and is none."""

_NO_VERB = (
    r"(?!morning|evening|\w*thing\b|wedding|during|building|meeting|ceiling|parking|housing|king|ring|string|spring)"
)
_OPEN = re.compile(
    r"(?:is|was|are|were|does|has|did|will|can)\b|.*n'?t (?:i|you|it|he|she|we|they)\W*\Z|.*, ?right\W*\Z",
    re.IGNORECASE,
)
"""What may ask about a name in lower case ("is omar coming") or have dropped its subject ("is raining"); and a tag."""

_VERB = re.compile(
    rf"\b(?:{_AUXILIARY}|{_NO_VERB}\w+ing|(?:i|we|they|you|he|she|it) \w+)\b"
    r"|\b(?:i|you|he|she|it|we|they|there|that)(?:'(?:m|s|re|ve|d|ll)|m|s|re|ve)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_SPELLING = {"wat": "what", "wot": "what", "wats": "what's", "wots": "what's", "wen": "when", "wens": "when's"} | {
    "wich": "which",
    "wher": "where",
    "hw": "how",
}
_MISSPELT = re.compile(rf"\b(?!Wens?\b)(?i:{'|'.join(_SPELLING)})\b")
"""Question words as they are typed in a hurry; with a capital, Wen is a name."""
MAX_FRAGMENT_WORDS = 5
"""Most words of a fragment that may ask or state ("and her job", "dentist on friday")."""


def form_of(sentence: str) -> Form:
    """Whether a sentence is a question or a statement by its form; "unclear" for a fragment without a verb.

    A question mark makes any sentence a question.
    """
    if sentence.rstrip("\"'”)» !").endswith(("?", "？")):
        return "question"
    text = _to_the_point(sentence)
    if any(pattern.match(text) for pattern in _STATEMENT_FORMS):
        return "statement"
    if any(pattern.match(text) for pattern in _QUESTION_FORMS):
        return "question"
    words = _WORD.findall(text)
    if _OPEN.match(text):
        return "unclear"
    has_verb = _VERB.search(text) or any(is_past_form(word) for word in words)
    return "statement" if has_verb or len(words) > MAX_FRAGMENT_WORDS else "unclear"


def states(sentence: str) -> bool:
    """Whether a sentence states something, or may, even if it ends with a question mark.

    "My boss Dana quit, what should I do?" does. With the mark, what begins like a question is nothing else.
    """
    if form_of(sentence) != "question":
        return True
    bare = sentence.rstrip("?？! ")
    return form_of(bare) == "statement" and not _ASKING_FIRST.match(_to_the_point(bare))


def exclaims(sentence: str) -> bool:
    """Whether a sentence only exclaims ("what a morning", "guess who called"), although it begins like a question."""
    return _EXCLAMATION.match(_to_the_point(sentence)) is not None


def _to_the_point(sentence: str) -> str:
    """A sentence without its opening, question words spelt out."""
    text = " ".join(sentence.replace("’", "'").replace("`", "'").split())
    text = _MISSPELT.sub(lambda match: _SPELLING[match[0].lower()], text)
    return text[_OPENING.match(text).end() :][:LONGEST_READ]  # type: ignore[union-attr]  # it matches the empty opening
