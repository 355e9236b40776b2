"""Find the feeling that a speaker names, and the kind of place or occasion of a sentence.

The emotions are those of GoEmotions (Demszky et al. 2020) that people name themselves, with everyday words for each. A
word counts only if it says how somebody feels: "I was furious", not "a furious storm".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

EMOTIONS: Mapping[str, str] = {
    "joy": "happy/glad/delighted/joyful/cheerful/overjoyed/thrilled/ecstatic/elated/chuffed/over the moon",
    "excitement": "excited/eager/pumped/psyched/stoked",
    "sadness": "sad/unhappy/down/miserable/heartbroken/gutted/depressed/devastated/upset/low/tearful",
    "grief": "grieving/mourning/bereaved",
    "anger": "angry/furious/mad/livid/cross/enraged/outraged",
    "annoyance": "annoyed/irritated/frustrated/fed up",
    "fear": "afraid/scared/frightened/terrified",
    "nervousness": "nervous/anxious/worried/tense/stressed/uneasy/overwhelmed/panicked",
    "surprise": "surprised/amazed/astonished/shocked/stunned",
    "disappointment": "disappointed/discouraged/let down",
    "embarrassment": "embarrassed/ashamed/mortified/humiliated",
    "remorse": "guilty/sorry/remorseful",
    "loneliness": "lonely/alone/isolated/homesick",
    "gratitude": "grateful/thankful/touched/moved",
    "pride": "proud/accomplished",
    "relief": "relieved/reassured",
    "hope": "hopeful/optimistic/confident",
    "calm": "calm/peaceful/relaxed/content/serene",
    "love": "in love/smitten",
    "envy": "jealous/envious",
    "boredom": "bored",
    "tiredness": "tired/exhausted/drained/worn out/burnt out/burned out/knackered/shattered",
}

GOOD_FEELINGS = frozenset("joy excitement gratitude pride relief love".split())
HARD_FEELINGS = frozenset(
    "sadness grief anger fear nervousness disappointment embarrassment loneliness tiredness".split()
)
"""The emotions that are congratulated, and those that are met with sympathy."""

SCENES = (
    "home/work/school/university/office/hospital/church/airport/station/beach/lake/river/sea/park/garden/kitchen/forest/"
    "woods/mountains/countryside/museum/gallery/theatre/theater/cinema/restaurant/cafe/café/bar/pub/club/gym/pool/"
    "stadium/market/supermarket/shop/mall/library/concert/festival/wedding/funeral/party/birthday/barbecue/picnic/camp/"
    "campsite/hotel/farm/zoo/train/plane/bus/boat/ship/car/workshop/studio/class/court/playground/balcony"
).split("/")
"""Places and occasions."""

_MEANS = {word: emotion for emotion, words in EMOTIONS.items() for word in words.split("/")}
_WORD = rf"(?P<word>{'|'.join(_MEANS)})\b"
_FEELS = re.compile(
    r"(?:\b(?:I|we)(?:'?m|'re| am| are| was| were| feel| felt| got| get| became|'?ve been| have been| had been| left)"
    r"(?: feeling)?|\A\W*(?:just )?feeling)"
    r"(?: (?:so|very|really|quite|pretty|too|just|still|extremely|incredibly|a bit|a little))?"
    rf" {_WORD}(?! to (?:say|report))",
    re.IGNORECASE,
)
_FEELS_ALONE = re.compile(
    r"\A\W*(?:(?:so|just|really|absolutely|totally|completely|pretty|quite|a bit|bit) )?"
    r"(?P<word>gutted|heartbroken|devastated|thrilled|ecstatic|chuffed|over the moon|stoked|terrified|furious|livid"
    r"|worried|nervous|stressed|exhausted|knackered|fed up|relieved|excited|disappointed|proud)"
    r"(?=,|;| -| (?:about|that|cos|cause|because|for|of|after|i|we|my|it)\b)",
    re.IGNORECASE,
)
"""A feeling without its subject; only words that begin no other sentence."""
_UNWELL = re.compile(
    r"\b(?:coming|came|gone|going) down with\b|\bunder the weather\b|\b(?:threw|throwing|thrown) up\b"
    r"|(?:\bI(?:'?m| am| feel|'?ve been| have been)|\A\W*(?:been|feeling))(?: feeling)?"
    r"(?: (?:so|very|really|quite|pretty|a bit|still))? (?:ill|sick|poorly|rough|unwell)\b(?! of\b)"
    r"|\b(?:my|our)(?: [\w'-]+){1,3}?(?:'s| is| are| has been| have been)"
    r"(?: (?:so|very|really|quite|pretty|a bit|still))? (?:ill|sick|poorly|unwell)\b(?! of\b)"
    r"|\bI(?:'?ve| have)?(?: just)? (?:got|have|caught|tested positive for)(?: (?:a|the|some))?"
    r"(?: (?:bad|nasty|horrible|terrible|awful|really bad))? (?:cold|flu|covid|fever|migraine|stomach bug|bug)\b",
    re.IGNORECASE,
)
_COURTEOUS = re.compile(
    rf"\b(?:I|we)(?:'?m|'re| am| are)(?: (?:so|very|really|always|just))? {_WORD} "
    r"(?:to|for you|that|you|your|we|my|it)\b",
    re.IGNORECASE,
)
"""Polite phrases ("I'm glad you like it", "I'm happy to help") are not feelings."""

_NOT_NOW = re.compile(r"\b(?:but|until|before|used to|was|were|got|left|had been)\b", re.IGNORECASE)
_WAS_UNWELL = re.compile(r"\b(?:until|before|used to|was|were|had)\b", re.IGNORECASE)

LEAST_WORDS = 5
"""Fewest words of a sentence that tells a feeling and its cause; "I'm excited!" tells no cause."""

_CRIES = re.compile(
    r"(?:\A\W*|\bI )(?:just |really )?(?:can'?t|cannot|couldn'?t) stop crying\b"
    r"|\bI(?:'?m| am|'?ve been| have been| was)(?: still| just)? (?:crying|in tears|in bits)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    rf"\b(?:makes|made|leaves|left) (?:me|us)(?: feel)?(?: so| very| really)? {_WORD}",
    re.IGNORECASE,
)
_SCENE = re.compile(
    r"\b(?:at|in|on|to|from|by|near|during)"
    r"(?: (?:the|my|our|a|an|his|her|their|this|that|your|local|old|new|[A-Z]\w{1,20}(?:'s)?)){0,3}"
    rf" (?P<scene>{'|'.join(SCENES)})\b",
    re.IGNORECASE,
)


def emotion(sentence: str) -> str:
    """The emotion that the speaker feels or felt; empty if they name none."""
    plain = sentence.replace("’", "'")
    if _CRIES.search(plain):
        return "sadness"
    if len(plain.split()) < LEAST_WORDS or _COURTEOUS.search(plain):
        return ""
    match = _FEELS.search(plain) or _FEELS_ALONE.match(plain) or _MADE.search(plain)
    return _MEANS[match["word"].casefold()] if match else ""


def feeling_now(sentence: str) -> str:
    """The emotion that the speaker feels now; empty if they name none, or one that has passed."""
    return "" if _NOT_NOW.search(sentence) else emotion(sentence)


def unwell(sentence: str) -> bool:
    """Whether the speaker says that they, or somebody of theirs, are ill now."""
    return _UNWELL.search(sentence.replace("’", "'")) is not None and not _WAS_UNWELL.search(sentence)


def scene(sentence: str) -> str:
    """The kind of place or occasion of a sentence; empty if it names none."""
    match = _SCENE.search(sentence.replace("’", "'"))
    return match["scene"].casefold() if match else ""
