"""Tell by its form whether an English sentence asks or states.

English marks a question by its first words: a question word with an auxiliary after it ("where do I work", "what's her
name"), or an auxiliary before its subject ("did she call"). Those words are of closed classes, so they can be listed;
people who type in lower case, without question marks and apostrophes, keep their order.
"""

from __future__ import annotations

import re
from typing import Literal

from memory.dates.english.tense import is_past_form

Form = Literal["question", "statement", "unclear"]

_FILLER = (
    r"(?:(?:oh|ok|okay|so|well|and|but|hey|hi|hello|um+|uh+|hm+|ugh|lol|haha+|btw|by the way|anyway|anyways|right|now"
    r"|also|wait|sorry|please|pls|then|just|actually|yes|yeah|yep|no|nope|quick question|remind me again|again"
    r"|good question"
    r"|one more thing|another thing|one question|omg|wow|damn|like)[,:;.!… -]+)*"
)
_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|shall|might|must"
    r"|(?:is|are|was|were|do|does|did|have|has|had|could|would|should)n'?t|can'?t|won'?t|ain'?t)"
)
_PRONOUN = (
    r"(?:i|you|u|he|she|it|we|they|there|this|that|these|those|anyone|anybody|someone|somebody|everyone|everybody)"
)
_POSSESSIVE = r"(?:my|your|ur|his|her|its|our|their)"
_NOUN_PHRASE = rf"(?:{_PRONOUN}|{_POSSESSIVE} [\w'-]+|the [\w'-]+|an? [\w'-]+)"
_QUESTION_WORD = r"(?:what|whats|who|whos|whom|whose|which|when|whens|where|wheres|why|whys|how|hows)"

_QUESTION_FORMS = tuple(
    re.compile(rf"\A\W*{_FILLER}(?:\w+, )?(?:{pattern})", re.IGNORECASE)
    for pattern in (
        # A question word and an auxiliary, at once or after what is asked for: "how many cats do I have".
        r"(?:what|who|where|when|how|why|which)(?:'?s|'re|'d|'ll)\b(?! (?:more|worse|better)\b)",
        rf"{_QUESTION_WORD} (?:(?:the hell|on earth|exactly|again|else|all) )?{_AUXILIARY}\b",
        r"(?:in|on|at|for|from|to|with|about|of|by|since|until) (?:what|which|who|whom|whose|when|where)\b"
        rf".*\b{_AUXILIARY}\b",
        rf"(?:what|which|whose|how (?:many|much|long|old|often|far|big|tall|late|early|good|bad|well)) "
        rf"(?:(?!(?:{_PRONOUN}|a|an)\b)[\w'-]+ ){{0,5}}{_AUXILIARY}\b",
        # "Who called me", "which doctor saw her": the question word is the subject.
        rf"(?:who|which [\w'-]+|what) (?!(?:{_NOUN_PHRASE}|knew|knows|cares|cared|a|an|if)\b)[a-z]+(?:ed|s|d)? \w+",
        r"(?:how come|how about|what about|why not|what (?:day|time|year|date|month)|how (?:many|much|long|old"
        r"|often))\b",
        # An auxiliary before its subject.
        rf"{_AUXILIARY} {_PRONOUN}\b(?! (?:day|time|one|week|weekend|evening|morning|month|year)\b)",
        rf"(?!(?:had|have|did|do)\b){_AUXILIARY} (?:{_POSSESSIVE}|the|any|all|both) [\w'-]+ \w+",
        rf"did (?:{_POSSESSIVE}|the|any|all|both) [\w'-]+ (?!(?:and|at|in|on|for|with|to|today|yesterday|this"
        rf"|last|again"
        r"|then|all|finally|tonight|before|after|early|late|but|so|now|already|myself|alone)\b)\w+",
        r"(?:is|was|does|has|did|will) (?-i:[A-Z])[\w'-]+ \w+",
        # An order to answer.
        r"(?:can|could|would|will) (?:you|u) (?:please )?(?:tell|remind|give|list|show|name|say)\b",
        r"(?:tell|show|give) (?:me|us) (?:about|what|who|whom|where|when|why|how|which|everything|all|again|the|my)\b",
        r"remind me (?:about|what|who|whom|where|when|why|how|which|of)\b|remember (?:when|what|who|where|how|which)\b",
        r"(?:list|name|summari[sz]e|recap|describe) (?:me )?(?:all|every|everything|my|the|what|some|any|our)\b",
        r"(?:any idea|do you know|d'?you (?:know|remember)|(?:i'?d|i would) (?:like|love) to know)\b",
        r"(?:i|i've|ive) (?:can'?t remember|don'?t remember|forgot|forget|keep forgetting|forgotten)"
        r" (?:what|who|whom|where|when|which|how|whose|my|if)\b",
        r"i(?:'?m)? (?:wonder|wondering) (?:what|who|whom|where|when|which|how|why)\b",
    )
)

_NO_QUESTIONS = tuple(
    re.compile(rf"\A\W*{_FILLER}(?:{pattern})", re.IGNORECASE)
    for pattern in (
        r"guess (?:what|who|where|how|which)\b|who (?:knew|cares)\b|what an? |how (?:lovely|nice|cool|sweet"
        r"|funny|sad)\b",
        r"remind me to\b|remember (?:that|to|this|i|my|it'?s)\b|(?:i'?ll|let me) tell you\b",
        # A question word that joins: "when i got home ...", "what i like about it is ...".
        r"(?:when|where|what|who|why|how|which) (?:i|he|she|we|they|it|my|our|his|their|i'?m|we'?re|i'?ve)\b",
        # A dropped subject: "had a long day", "can't wait for friday", "was at the dentist".
        r"(?:had|have|has|did|was|were|will|would|could|might|am|is|do|can) (?:to|an?|some|been|so|not|no|at|in"
        r"|on|off|out"
        r"|too|really|very|just|lots|loads|great|good|bad|fun|love|use|be|go|get|come)\b",
        r"can'?t (?:wait|believe|stand|sleep|stop|even|complain)\b|won'?t be\b",
        r"(?:don|haven|hasn|hadn|didn|wasn|isn)'?t (?!(?:i|you|he|she|it|we|they|that|this|there|my|the)\b)\w+",
    )
)
"""What begins like a question and is none."""

_NO_VERB = r"(?!morning|evening|\w*thing\b|wedding|spring|during)"
_VERB = re.compile(
    rf"\b(?:{_AUXILIARY}|{_NO_VERB}\w+ing|(?:i|we|they|you|he|she|it) \w+)\b"
    r"|\b(?:i|you|he|she|it|we|they|there|that)'?(?:m|s|re|ve|d|ll)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
SHORT = 5
"""Most words of a fragment that may ask or state ("and her job", "dentist on friday")."""


def form_of(sentence: str) -> Form:
    """Whether a sentence is a question or a statement by its form; "unclear" for a fragment without a verb.

    A question mark makes any sentence a question.
    """
    text = " ".join(sentence.replace("’", "'").replace("`", "'").split())
    if text.rstrip("\"'”)» !").endswith(("?", "？")):
        return "question"
    if any(pattern.match(text) for pattern in _NO_QUESTIONS):
        return "statement"
    if any(pattern.match(text) for pattern in _QUESTION_FORMS):
        return "question"
    words = _WORD.findall(text)
    has_verb = _VERB.search(text) or any(is_past_form(word) for word in words)
    return "statement" if has_verb or len(words) > SHORT else "unclear"
