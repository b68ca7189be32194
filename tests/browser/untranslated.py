"""Finds the words of a page that are not in Kiswahili, although the catalogue has them or ought to have them."""

import re
from functools import cache

from playwright.async_api import Page

from malipo.http.accept_language import Language
from malipo.networks.channel_names_and_prefixes import PROFILES
from tests.dashboard.catalogues import kept

# What is seen, and what is read out. Code is for programs, and what a machine has said is in its own words.
_SAID = """() => {
  const said = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const within = walker.currentNode.parentElement;
    if (!within.closest('script, style, code, [lang="en"]:not(html), .small, .code-like')) said.push(walker.currentNode.data);
  }
  for (const each of document.querySelectorAll("[aria-label], [placeholder], [title], [data-label]"))
    for (const name of ["aria-label", "placeholder", "title", "data-label"]) said.push(each.getAttribute(name) ?? "");
  return said.map((each) => each.replace(/\\s+/g, " ").trim()).filter((each) => /[a-z]{2}/i.test(each));
}"""
# None of these is a word of Kiswahili.
_ENGLISH = re.compile(
    r"\b(the|of|is|are|was|and|or|for|not|you|your|with|from|this|that|to|by|it|at|on|an?|no|all|new)\b", re.IGNORECASE
)


@cache
def _meanings() -> list[re.Pattern[str]]:
    """Whatever the catalogue says in Kiswahili, with any values in it."""
    meanings = kept("malipo.dashboard", Language.KISWAHILI).values()
    return [re.compile(re.sub(r"\\{\w*\\}", "(.*)", re.escape(each))) for each in meanings]


@cache
def _english() -> set[str]:
    return {
        words.lower() for words, meaning in kept("malipo.dashboard", Language.KISWAHILI).items() if words != meaning
    }


async def english_in(page: Page) -> list[str]:
    said: list[str] = await page.evaluate(_SAID)
    return sorted({each for each in said if _is_left(each)})


@cache
def _is_left(words: str) -> bool:
    """Known meanings are right, if the values in them are; of the rest, whatever looks like English."""
    for meaning in _meanings():
        if found := meaning.fullmatch(words):
            return any(value.lower() in _english() for value in found.groups())
    if any(words == profile.name for profile in PROFILES.values()):
        return False
    return words.lower() in _english() or _ENGLISH.search(words) is not None
