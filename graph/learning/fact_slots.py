"""The parts of the forms in which facts are stated: names, places, dates, occupations, and who is what to whom.

A slot takes a name as it is written: with a capital anywhere, in lower case only where nothing but a name can follow
("my boss is called rue") or where the place is known ("i moved to leeds"). Known names of people get their capital
before (`graph.learning.plain_words.with_names`).
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path


def _words(text: str) -> str:
    return "|".join(text.split())


def _listed(file: str) -> str:
    """The words of a file, but its comments; grouped, so that a place in a text is not tried with each of them."""
    lines = Path(__file__).with_name(file).read_text("utf-8").split("\n")
    words = sorted(" ".join(line for line in lines if line[:1] != "#").split())
    groups = groupby(words, key=lambda word: word[:2])
    return "|".join(f"{start}(?:{'|'.join(word[2:] for word in group)})" for start, group in groups)


def _what(*forms: str) -> str:
    """The slot of a fact's value, in the first of these forms that fits."""
    return f"(?P<what>{'|'.join(forms)})"


DEMONYM = (
    r"\w+ish|\w+ese|\w+[lndrtv]ian|\w*(?:Americ|Mexic|Afric|Kore|Rom|Moroc|Jamaic|Dominic)an|German|French|Dutch|Greek"
    r"|Welsh|Swiss|Czech|Norwegian|Belgian|Chilean|Cuban|Catholic|Muslim|Christian|Hindu|Buddhist|Sikh|Catalan|Texan"
    r"|Pakistani|Israeli|Iraqi|Saudi|Thai|Filipino|Latina?|Asian|Black|White|Covid|Head|Team|Year|Type|Gen"
    r"|Vegan|Vegetarian|Veggie|Pregnant|Single|Deaf|Blind|Gay|Bi|Bisexual|Straight|Trans|Autistic|Dyslexic|Running|Going"
    r"|Aries|Taurus|Gemini|Cancer|Leo(?=\W*\Z)|Virgo|Libra|Scorpio|Sagittarius|Capricorn|Aquarius|Pisces"
)
"""What follows "I'm" or "my boss is" with a capital and is no name."""
_DAY = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Christmas|Easter"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NOT_A_NAME = (
    r"(?!(?-i:I|It|He|She|They|You|We|My|Our|This|That|These|Those|Here|There|One|Who|What|Which|Mine|So|And|But|Well"
    rf"|Now|Then|Also|Yes|No|Oh|Today|Because|Since|As|If|The|Happy|Ok|OK|Okay|Fine|Good|Back|Home|Sorry|Done|Late|Thanks?|Thank|God|Satan"
    r"|Lord|Mum|Mummy|Mom|Dad|Daddy|Grandma|Grandad|Google|Facebook\w*|Facetim\w*|Instagram|Whats[Aa]pp\w*|Skyp\w*|Netflix"
    rf"|Alexa|Siri|Spotify|YouTube|{_DAY})\b)"
)
"""Words that are written with a capital and are no name of a person."""
_CAPITAL = r"[^\W\d_a-z][\w-]*(?:'(?!s\b)[\w-]+)*"
PERSON = (
    rf"{_NOT_A_NAME}(?-i:(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|St)\.? )?{_CAPITAL}"
    rf"(?:(?: (?:de|del|da|van|von|der|bin|al))* (?!(?:{_DAY})\b){_CAPITAL}){{0,2}})"
)
KNOWN_NAME = rf"(?-i:(?:(?:mr|mrs|ms|miss|dr|prof)\.? [a-z]+|(?:{_listed('names.txt')}))(?![\w-])(?!'(?!s\b)))"
"""A name in lower case that can be nothing else: a usual first name, or what follows a title."""
_PEOPLE = rf"{PERSON}(?:(?:, {PERSON})*,? (?:and|&) {PERSON})?"
PEOPLE, WHO = _what(_PEOPLE), _what(PERSON)
_SMALL = r"on in at by of to not no the an? my your our his her this that what it so too very just still also now all"
_LOWER = (
    rf"(?!(?:{_words(_SMALL)}|spel\w+|later|maybe|back|again|soon|tonight|today|tomorrow|anytime|when|if|crazy"
    r"|old|hard|easy|long|short|common|important|names|mud|after|and|or|mr|mrs|dr)\b)(?-i:[^\W\dA-Z_])[\w'-]+"
    r"(?=\W*\Z|[,.;!?)]| (?:and|but|btw|lol|by|after|because|cos|he'?s|she'?s|he|she|they)\b)"
)
LOWER, ANY_NAME = _what(_LOWER), _what(_PEOPLE, _LOWER)
"""A name in lower case after "called" or "my name is", and any name there."""

_PLACE_NAME = (
    rf"(?-i:(?:St\.? )?{_CAPITAL}(?:(?: (?:de|del|da|do|du|la|le|of|on|the|upon|van|von|der|and the))* "
    rf"(?!(?:{_DAY})\b){_CAPITAL})*)"
)
_AFTER = (
    r"(?=\W*\Z|[.,;:!?)]|\s+(?:and|but|because|cos|since|so|now|with|these|at|last|this|yesterday|today|in|for|to|near"
    r"|where|when|all|again|still|btw|lol|actually|originally|until|by|from|right|though|which|it's|its|on|as|i'm|part|full)\b)"
)
_NO_PLACE = _words(
    """bed town school college uni work hospital fear hope peace denial hell chaos harmony poverty silence pain halls
    flats sweatpants jeans leggings pyjamas student here there home somewhere nowhere anywhere abroad upstairs
    downstairs shared rented luxury sin squalor nights days mornings evenings weekends shifts sales marketing finance
    accounts android windows linux mac decaf tea coffee be get find make help live save see look escape start avoid
    stay go take give have another different new better bigger winter summer spring autumn captivity january february
    march april may june july august september october november december money love me him her us them it the this that
    my your our a an what where one two myself free food fun years ages sea height speed least first large best most
    once noon midnight night lunch day part full nine ten eight seven time people families small big"""
)
_KNOWN_PLACE = (
    rf"(?-i:(?:(?:north|south|east|west|central) )?(?:{_listed('places.txt')}|new york|new zealand|san diego"
    r"|los angeles|san francisco|hong kong|buenos aires|sri lanka|las vegas|milton keynes|st albans"
    r"|south africa|saudi arabia|costa rica|cape town|the netherlands|the us|the usa|the uk|the states))\b"
)
_LOWER_PLACE = (
    rf"(?!(?:{_NO_PLACE}|\w+ing(?=\W*\Z| to\b)|\d\w*)\b)(?-i:(?:(?:new|san|santa|los|las|la|el|st|north|south"
    rf"|east|west|great|port|cape|hong|tel|rio|sri|costa|buenos|milton) )?[^\W\dA-Z_][\w'-]+){_AFTER}"
)
"""A place or firm in lower case: one word, after which nothing but another phrase can begin."""
PLACE_NAME, LOWER_PLACE = _what(_PLACE_NAME), _what(_LOWER_PLACE)
SURE_PLACE, ANY_PLACE = _what(_PLACE_NAME, _KNOWN_PLACE), _what(_PLACE_NAME, _KNOWN_PLACE, _LOWER_PLACE)
WORKPLACE = _what(_PLACE_NAME, rf"(?<=\bat ){_LOWER_PLACE}")

_NO_KIND = (
    r"(?!(?:the|an?|this|that|these|those|my|your|our|his|her|their|its|some|any|every|each|no|all|both|one|(?-i:it|It)"
    r"|you|u|him|them|me|us|myself|himself|how|when|what|where|who|why|which|if|to|being|having|everything|everyone"
    r"|something|someone|anything|nothing|today|tonight|yesterday|so|such|as|and|but|or|mondays?|nonsense|on|in|at|out"
    r"|over|back|still|gone|lost|broken|coming|not|too|very|here|there|now|playing|also|work(?=\W*\Z))\b"
    r"|\w+(?:'s)\b)"
)
_FURTHER = (
    rf"{_NO_KIND}(?!(?:i|i'm|we|he|she|they|it|it's|always|never|ever|even|just|especially|mostly|mainly|thanks|sorry"
    r"|honestly|hopefully|maybe)\b)[\w'-]+(?: [\w'-]+)?"
)
BARE = (
    rf"(?P<what>{_NO_KIND}[^.,;:!?\n()]{{2,60}}?(?:(?:, {_FURTHER})+,? (?:and|or) {_FURTHER})?)"
    r"(?=(?: unfortunately| sadly| though| btw| so much| a lot| too| as well| lol| haha| tbh| very much| right now)?"
    r"(?:\W*\Z|[.,;:!?\n(]|\s+(?:but|because|cos|since|so|which|when|although|though)\b"
    r"|\s+and (?:my|our|i|i'm|we|he|she|they|it|the|you)\b))"
)
"""A noun without an article, as one speaks of a kind, or several: "I love hiking", but not "I love this song"."""
END = (
    r"(?=\W*\Z|[.,;:!?\n)]|\s+(?:and|but|because|since|so|now|with|these days|at the moment|last|this|yesterday|today"
    r"|again|btw|lol|haha|though|cos|who|which|he|she|from)\b)"
)
_JOB_END = rf"(?:{END}|(?=\s+(?:at(?! heart)|for|in|on|by)\b))"

DATE = (
    rf"(?P<what>\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?:,? \d{{4}})?"
    rf"|{_MONTH}\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|{_MONTH}(?=\W*\Z|[,.;!])"
    r"|\d{1,2}[./-]\d{1,2}(?:[./-]\d{2,4})?)"
)

# --- who is what to the speaker

_PARTNERS = "wife|husband|partner|girlfriend|boyfriend|fiancée|fiancee|fiancé|fiance|spouse"
CHIEFS = "boss|line manager|manager|landlord|landlady"
ONE_AT_A_TIME = frozenset(f"{_PARTNERS}|{CHIEFS}".split("|"))
"""What only one person is to somebody at a time, so that a new one replaces the one before."""
FAMILY = (
    rf"(?:(?:step|half|great|god|grand|foster|ex)[- ]?)*(?:mother|mum|mom|mam|father|dad|sister|brother|{_PARTNERS}|son"
    r"|daughter|grandson|granddaughter|nana|nan|gran|granny|grandma"
    r"|grandpa|grandad|granddad|auntie|aunt|uncle|cousin|niece|nephew|twin|child|kid)(?:[- ]in[- ]law)?"
)
AT_WORK = (
    rf"{CHIEFS}|supervisor|colleague|co-?worker|flatmate|roommate|housemate|neighbou?r|dentist|GP|doctor|assistant|tutor"
    "|professor"
)
ROLE = (
    rf"(?:(?:best|good|close|old|school|work|childhood) )?(?:friend|mate|pal)|{AT_WORK}|teacher|lecturer|therapist"
    r"|counsellor|counselor|(?:personal )?trainer|coach|lodger|tenant|cleaner|nanny|babysitter|childminder|mentor"
    r"|accountant|lawyer|solicitor|hairdresser|vet|physio|student|pupil|apprentice|intern|carer|ex|team lead(?:er)?"
)
ANIMAL = (
    r"(?:dog|cat|pupp(?:y|ie)|kitten|rabbit|bunny|hamster|guinea pig|parrot|budgie|canary|tortoise|turtle|horse|pony"
    r"|goldfish|snake|lizard|gecko|ferret|rat|mouse|gerbil|chicken|hen|goat|sheep|duck|donkey|greyhound|labrador|lab"
    r"|poodle|beagle|spaniel|terrier|collie|retriever|pug|dachshund|whippet|husky|bulldog|corgi|chihuahua|mongrel"
    r"|cockapoo|labradoodle|tabby)"
)
QUALITY = (
    r"(?:(?:older|elder|eldest|oldest|younger|youngest|middle|big|little|baby|new|old|dear|late|lovely|poor|other|own"
    r"|very|twin|phd|thesis) )*"
)
TIE = rf"(?P<kind>(?:(?:{FAMILY}|{ROLE})'s )?(?:{FAMILY}|{ROLE}|{ANIMAL}))"
MY = rf"\b(?:my|our) {QUALITY}"
OWN = r"\b(?:I|we)(?:'ve got|'ve| have| have got| got| just got|'ve just got| adopted|'ve adopted)"
SUBJECT = r"(?:\b(?:I|we)(?:'ve| have)? |\A\W*(?:so |hi |hey )?)(?:(?:just|finally|recently|also) )*"

JOBS = _words(
    """accountant actor actress analyst architect artist assistant baker barber barista barman bartender beautician
    biologist bookkeeper bricklayer builder bus-driver butcher carer caretaker carpenter cashier chef chemist cleaner
    clerk coach consultant cook copywriter counsellor dancer decorator dentist designer developer dietitian director
    doctor driver editor electrician engineer estate-agent farmer firefighter fisherman fitter florist gardener
    geologist glazier goldsmith hairdresser illustrator instructor interpreter janitor jeweller joiner journalist judge
    labourer landscaper lawyer lecturer librarian lifeguard locksmith manager mechanic midwife musician nanny nurse
    nutritionist optician optometrist painter paralegal paramedic pharmacist photographer physicist physio
    physiotherapist pilot plasterer plumber police-officer policeman policewoman porter postman potter producer
    professor programmer psychiatrist psychologist radiographer radiologist receptionist recruiter researcher roofer
    sailor scientist seamstress secretary social-worker soldier solicitor statistician student stylist supervisor
    surgeon surveyor tailor teacher technician therapist tiler trainer translator tutor undertaker vet waiter waitress
    warehouse-worker welder worker writer zookeeper"""
).replace("-", " ")
JOB = (
    r"(?P<what>(?:(?!(?:bad|terrible|awful|rubbish|lousy|hopeless|good|great|decent|keen|big|huge|slow|fast|nervous"
    r"|careful|amateur|hobby|wannabe|former|ex|would-be|failed|real|proper|better|natural|frustrated|people's|back|seat"
    rf"|not|control|hard|fussy|messy|poor|total|bit|kind|sort|lot|of)\b)[\w&'-]+ ){{0,3}}?(?:{JOBS})){_JOB_END}"
)
"""An occupation after "I'm a", where many other nouns may follow."""
ANY_JOB = rf"(?P<what>(?!part\b|full\b|team\b)[^.,;:!?\n]{{2,60}}?){_JOB_END}"

_NUMBERED = rf"(?:an?|one|two|three|four|five|six|\d)(?: [\w-]+)? (?:{ANIMAL}|{FAMILY})s?"
NUMBERED = rf"(?P<what>(?:{_NUMBERED}(?:, {_NUMBERED})*(?:,? and {_NUMBERED})?|kids|children|siblings|pets))"
"""Relatives and animals as one counts them: "a cat and two dogs"."""
_YET = rf"(?=(?: yet| atm| anymore| any more)?{END})"
_NONE = rf"(?:{FAMILY}|{ANIMAL}|children|sibling|pet)s?"
NONE_OF = rf"(?P<what>{_NONE}(?: (?:or|and) {_NONE})*){_YET}"
NO_PEOPLE = rf"(?P<what>kids|children|siblings|brothers|sisters){_YET}"

_LANGUAGE = (
    "(?:(?:a (?:bit|little)(?: of)?|some|fluent|basic|broken|good|american|british|brazilian|mandarin|swiss) )*(?:"
    + _words(
        """afrikaans albanian amharic arabic armenian azerbaijani bambara basque belarusian bengali berber bosnian
        breton bulgarian burmese cantonese catalan chinese cornish croatian czech danish dari dutch english esperanto
        estonian farsi finnish flemish french frisian gaelic galician georgian german greek guarani gujarati hausa
        hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada kazakh khmer korean kurdish
        lao latin latvian lingala lithuanian luxembourgish macedonian malay malayalam maltese mandarin maori marathi
        mongolian nepali norwegian occitan pashto persian polish portuguese punjabi quechua romanian russian samoan
        scots serbian shona sindhi sinhala slovak slovene slovenian somali spanish swahili swedish swiss-german tagalog
        tamil tatar telugu thai tibetan tigrinya turkish twi ukrainian urdu uzbek vietnamese welsh wolof xhosa yiddish
        yoruba zulu"""
    ).replace("-", " ")
    + r")\b"
)
LANGUAGES = rf"(?P<what>{_LANGUAGE}(?:(?:, |,? (?:and|&) ){_LANGUAGE})*)"

JOKES = r"(?:mornings|bullshit|work|people|exercise|commitment|fun|idiots|stupidity|effort|housework|love|drama)"
"""What people say they are allergic to and are not."""

SOFTWARE = (
    "(?:Android|Apple|iPhone|iOS|Windows|Linux|Mac|Slack|Zoom|Teams|Gmail|Chrome|Firefox|Spotify|Signal|Telegram)"
)
"""What people move to without moving house."""
