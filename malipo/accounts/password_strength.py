"""Refuses weak passwords: too short, too long, or quickly guessed. Pure, and slow.

zxcvbn finds words, dates, keyboard rows and repetitions in it, and estimates the guesses for each. We add the pieces
that are guessed first here: the person's names, the business, phone numbers, Kiswahili words (below). The password is
as strong as the cheapest way to compose it of such pieces. zxcvbn's own sum is not used, because it calls any four
pieces strong: a name, a sign, a year and a sign would pass.

Judging takes up to tenths of a second, so it runs in a thread (`passwords.py`). Only the beginning is judged, with few
kinds of symbols: zxcvbn tries every reading of symbols as letters, and 100 well-chosen ones keep it busy for minutes.
"""

import math
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from zxcvbn import matching, scoring  # type: ignore[import-untyped]

from malipo.errors import Invalid

# Words that an attacker in Tanzania tries first: names, places, clubs, networks, faith, love, food, months, numbers and
# sayings, without spaces. zxcvbn has the English ones. Pure data.


_NAMES = """
juma asha baraka neema rehema hassan hussein ali omari salum rashid hamisi mohamed mohammed ahmed athumani
bakari shabani ramadhani saidi selemani issa musa ibrahim yusuf khadija fatuma mwanaidi zainabu halima amina
mariam mwajuma zuhura hadija john joseph peter paul emmanuel daniel david michael james george godfrey elias
simon petro yohana mariamu anna grace joyce esther agnes rose happiness furaha upendo imani faraja tumaini
zawadi pendo amani subira rajabu abdallah hamza mushi komba massawe kimaro mrema lyimo mollel laizer mwakyusa
kessy shayo temu swai minja macha nyerere mkapa kikwete magufuli samia mwinyi karume
"""
_PLACES = """
tanzania tanganyika zanzibar daressalaam dar dodoma arusha mwanza mbeya morogoro tanga moshi kilimanjaro
iringa songea mtwara lindi tabora kigoma shinyanga singida musoma bukoba pemba unguja kariakoo ubungo
kinondoni temeke ilala sinza mbagala serengeti ngorongoro bagamoyo kibaha afrika africa eastafrica
afrikamashariki bongo kenya uganda
"""
_BRANDS = """
malipo mpesa vodacom voda tigo tigopesa mixx yas airtel airtelmoney halopesa halotel ttcl tpesa azampesa azam
clickpesa selcom nmb crdb nbc benki pesa wakala simba yanga simbasc yangasc youngafricans taifastars mnyama
azamfc bongoflava diamond duka biashara kampuni ofisi fedha hela shilingi password nenosiri siri funguo neno
admin
"""
_EVERYDAY = """
karibu sana asante habari mambo poa safi jambo hujambo sijambo shikamoo marahaba kwaheri kesho leo jana ndiyo
hapana nakupenda nakupendasana penda mapenzi mpenzi moyo rafiki mama baba dada kaka bibi babu mtoto watoto
familia ndugu mke mume mungu munguakubariki mungumwema mungunimwema munguibarikitanzania munguibarikiafrika
yesu yesuninjia yesunibwana bwana allah allahuakbar mashallah inshallah bismillah amina haleluya imani tumaini
neema baraka roho mtakatifu mtumishi simba chui tembo twiga kifaru nyati mbwa paka kuku samaki ng'ombe mbuzi
ndege nyoka kobe farasi chakula ugali wali nyama chai kahawa maji maziwa ndizi embe chungwa pilau chapati
mandazi nyumba gari baiskeli pikipiki bodaboda shule kazi kitabu kalamu simu mlango dirisha meza kiti jua
mwezi nyota mvua bahari ziwa mto mlima ardhi mbingu moto upepo nyekundu nyeusi nyeupe kijani bluu njano moja
mbili tatu nne tano sita saba nane tisa kumi mia elfu jumatatu jumanne jumatano alhamisi ijumaa jumamosi
jumapili januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba uhuru umoja
ujamaa amani upendo furaha haki kweli nguvu
"""
_SAYINGS = """
hakunamatata hakunakulala hapakazitu hapakazituu polepole harakaharaka harakaharakahainabaraka pamojatunaweza
kaziiendelee kazinauendelee uhurunaumoja uhurunakazi mambovipi mambosafi mambopoa karibusana kaributanzania
asantesana nakupenda milele pesanisabuniyaroho asiyesikialamkuu mtunimtu mtunautu subirayavutaheri
hababanahaba habanahabahujazakibaba umojaninguvu simbanguvumoja dareyoungafricans nguvumoja maishanisafari
maishamema maishamazuri lalasalama usikumwema habarizako habarizaasubuhi
"""

WORDS = frozenset(
    word.replace("'", "") for block in (_NAMES, _PLACES, _BRANDS, _EVERYDAY, _SAYINGS) for word in block.split()
)


LEAST = 10
MOST = 200
_MOST_JUDGED = 30
_MOST_SYMBOLS = 3
# Guesses, as powers of ten, from which on a password has this score. At 50 ms for each, which is what argon2 takes
# here, 10^9 are a year and a half of a processor.
_SCORES = (3.0, 6.0, 9.0, 12.0)
BEST_SCORE = len(_SCORES)
LEAST_SCORE = 3

# Guesses for pieces of ours, as powers of ten.
_OWN_WORD = 1.0  # one of a few
_GUESSED_WORD = math.log10(len(WORDS))
_NUMBER = 3.0  # a phone number: the person's own, or that of somebody near
_LONG_NUMBER = 6.0  # of an account, a card, a register: others know it too
_YEAR = 1.7

_SHORTEST_WORD = 3
_PHONE = re.compile(r"(?:\+?255|0)?[\s./-]*[67](?:[\s./-]*\d){8}")
_LONG_DIGITS = re.compile(r"\d(?:\s?\d){6,}")
_YEARS = re.compile(r"(?:19|20)\d\d")
_LOOKALIKES = str.maketrans("@4301!$57", "aaeoiisst")


class Weakness(StrEnum):
    LENGTH = "password_length"
    COMMON = "password_common"
    NAMES = "password_names"
    NUMBER = "password_number"
    REPEATED = "password_repeated"
    SEQUENCE = "password_sequence"
    DATE = "password_date"
    GUESSABLE = "password_guessable"


# After the field's name, as in "password is a date".
REASONS = {
    Weakness.LENGTH: f"must be {LEAST} to {MOST} characters",
    Weakness.COMMON: "is too easy to guess: it is like one that many people use",
    Weakness.NAMES: "is too easy to guess: it is like your name, your email, your business or the name of this service",
    Weakness.NUMBER: "is too easy to guess: it is a number, such as that of a phone",
    Weakness.REPEATED: "is too easy to guess: it repeats itself",
    Weakness.SEQUENCE: "is too easy to guess: it is a row of letters, digits or keys",
    Weakness.DATE: "is too easy to guess: it is a date",
    Weakness.GUESSABLE: "is too easy to guess: use several words that do not belong together",
}
_PATTERNS = {
    "dictionary": Weakness.COMMON,
    "repeat": Weakness.REPEATED,
    "sequence": Weakness.SEQUENCE,
    "spatial": Weakness.SEQUENCE,
    "date": Weakness.DATE,
    "regex": Weakness.DATE,
}


class PasswordProblem(NamedTuple):
    """Why a password is refused."""

    reason: Weakness
    score: int  # of BEST_SCORE

    @property
    def sentence(self) -> str:
        """The sentence after the field's name, without the final full stop."""
        if self.reason is Weakness.LENGTH:
            return REASONS[self.reason]
        return f"{REASONS[self.reason]} (strength {self.score} of {BEST_SCORE}; it needs {LEAST_SCORE})"


class WeakPassword(Invalid):
    code = "password_weak"

    def __init__(self, field: str, weak: PasswordProblem) -> None:
        super().__init__("The request has invalid fields.", details={field: [f"{field} {weak.sentence}."]})
        self.weak = weak


def weakness_of(password: str, *names: str) -> PasswordProblem | None:
    """The problem of a password; None if it is strong enough. `names` are the person's and the business's, because
    attackers try them first."""
    if not LEAST <= len(password) <= MOST:
        return PasswordProblem(Weakness.LENGTH, 0)
    text = _beginning(password)
    exponent, way = _cheapest(text, [*_own_pieces(text, names), *_zxcvbns_pieces(text)])
    score = sum(exponent >= least for least in _SCORES)
    return None if score >= LEAST_SCORE else PasswordProblem(_reason(way), score)


class _Piece(NamedTuple):
    """A part of the password that is not random: its place, and the guesses that it takes."""

    begin: int
    end: int  # behind its last character
    exponent: float  # 10 to the power of this
    kind: Weakness


def _cheapest(text: str, pieces: Iterable[_Piece]) -> tuple[float, list[_Piece]]:
    """The least number of guesses to compose the text of pieces and single characters, with these pieces."""
    ending: dict[int, list[_Piece]] = {}
    for piece in pieces:
        ending.setdefault(piece.end, []).append(piece)
    best: list[tuple[float, list[_Piece]]] = [(0.0, [])]
    for end, character in enumerate(text, start=1):
        before, way = best[end - 1]
        ways = [(before + _single(character), way)]
        for piece in ending.get(end, ()):
            before, way = best[piece.begin]
            ways.append((before + piece.exponent, [*way, piece]))
        best.append(min(ways, key=lambda each: each[0]))
    return best[-1]


def _single(character: str) -> float:
    """The guesses for a character that belongs to no piece."""
    if character.isdigit():
        return 1.0
    return math.log10(26 if character.isalpha() else 33)


def _own_pieces(text: str, names: tuple[str, ...]) -> Iterator[_Piece]:
    own = _parts(names)
    for places, folded in _readings(text):
        for words, exponent, kind in ((own, _OWN_WORD, Weakness.NAMES), (WORDS, _GUESSED_WORD, Weakness.COMMON)):
            for word in words:
                begin = folded.find(word)
                while begin >= 0:
                    yield _Piece(places[begin], places[begin + len(word) - 1] + 1, exponent, kind)
                    begin = folded.find(word, begin + 1)
    for pattern, exponent, kind in (
        (_PHONE, _NUMBER, Weakness.NUMBER),
        (_LONG_DIGITS, _LONG_NUMBER, Weakness.NUMBER),
        (_YEARS, _YEAR, Weakness.DATE),
    ):
        yield from (_Piece(*found.span(), exponent, kind) for found in pattern.finditer(text))


def _readings(text: str) -> Iterator[tuple[list[int], str]]:
    """The letters and digits of a text, as they are and with signs read as letters, each with its place in the text."""
    for read in (text, text.translate(_LOOKALIKES)):
        kept = [(place, character.casefold()[:1]) for place, character in enumerate(read) if character.isalnum()]
        yield [place for place, _ in kept], "".join(character for _, character in kept)


def _parts(names: tuple[str, ...]) -> set[str]:
    """The names as a whole, and each word of them: an email has a name on both sides."""
    words = [word for name in names for word in re.split(r"[\W_]+", name)]
    joined = ["".join(each for each in name if each.isalnum()) for name in names]
    return {each.casefold() for each in (*words, *joined, "malipo") if len(each) >= _SHORTEST_WORD}


def _zxcvbns_pieces(text: str) -> Iterator[_Piece]:
    for match in matching.omnimatch(text):
        kind = _PATTERNS.get(match["pattern"])
        if kind is not None:
            exponent = math.log10(float(scoring.estimate_guesses(match, text)))
            yield _Piece(match["i"], match["j"] + 1, exponent, _kind(match, kind))


def _kind(match: dict[str, Any], kind: Weakness) -> Weakness:
    # A year, and a date without anything between its parts, is what many numbers can be read as.
    is_long_number = kind is Weakness.DATE and match["token"].isdigit() and len(match["token"]) > len("20261117")
    return Weakness.NUMBER if is_long_number else kind


def _beginning(password: str) -> str:
    kept: set[str] = set()
    for character in password:
        if not character.isalnum() and not character.isspace() and len(kept) < _MOST_SYMBOLS:
            kept.add(character)
    begun = password[:_MOST_JUDGED]
    return "".join(each if each.isalnum() or each.isspace() or each in kept else "~" for each in begun)


def _reason(way: list[_Piece]) -> Weakness:
    """The longest piece that was recognised."""
    return max(way, key=lambda piece: piece.end - piece.begin).kind if way else Weakness.GUESSABLE
