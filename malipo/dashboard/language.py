"""The languages of the pages, and their translator. How a text is translated is in `http/translator.py`."""

from malipo.http import translator
from malipo.http.accept_language import Language

NAMES = {Language.ENGLISH: "English", Language.KISWAHILI: "Kiswahili"}

_DASHBOARD = "malipo.dashboard"


def catalogue(language: Language, package: str = _DASHBOARD) -> dict[str, str]:
    return translator.catalogue(language, package)


class Translator(translator.Translator):
    """The texts of one language, of the dashboard unless another package is named."""

    def __init__(self, language: Language, package: str = _DASHBOARD) -> None:
        super().__init__(language, package)
