"""What five pages weigh: requests, bytes over the line and the time to the first paint, on a slow line.

    python -m tests.browser.page_weight URL EMAIL PASSWORD [URL EMAIL PASSWORD]
    python -m tests.browser.page_weight https://…/pay/CODE

of one service, or of two that are compared; the two take turns. Or of the pay page of a link, on a slow telephone. Each page is opened in a browser that has nothing of it
yet, and once more in the same one. The line is as in Chromium's own "Slow 3G": 400 kbit/s, 2 s for a round trip. The
time is that of this machine too; bytes and requests are not. docs/performance.md has the figures.
"""

import asyncio
import statistics
import sys
from dataclasses import dataclass, field

from playwright.async_api import Browser, BrowserContext, CDPSession, Page, async_playwright

from tests.browser.browser_window import NARROW, log_in
from tests.chromium import installed

_PAGES = ("log-in", "overview", "transactions", "a payment", "wallet")
_PATHS = {
    "log-in": "/dashboard/login",
    "overview": "/dashboard",
    "transactions": "/dashboard/transactions",
    "wallet": "/dashboard/wallet",
}
_SLOW = {"offline": False, "latency": 2000, "downloadThroughput": 400_000 / 8, "uploadThroughput": 400_000 / 8}
# Of a telephone that computes four times as slowly as this machine.
_SLOWER = 4
_LATER = ("EventSource", "Fetch", "XHR")
_RUNS = 2
_FIRST_PAINT = """() => new Promise((done) => {
    const find = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    if (find() !== undefined) return done(find());
    new PerformanceObserver(() => find() !== undefined && done(find())).observe({ type: "paint", buffered: true });
})"""


@dataclass
class View:
    requests: int = 0
    bytes: int = 0
    paint_ms: list[float] = field(default_factory=list)


class Line:
    """Counts what comes over it, until the page is complete: not what it listens to, nor what it fetches of itself when
    something has changed."""

    def __init__(self, cdp: CDPSession) -> None:
        self._cdp = cdp
        self.view = View()
        self._kept: set[str] = set()
        cdp.on("Network.responseReceived", self._received)
        cdp.on("Network.loadingFinished", self._finished)

    def _received(self, event: dict[str, object]) -> None:
        response = event["response"]
        assert isinstance(response, dict)
        if response.get("fromDiskCache") or response.get("fromPrefetchCache") or event["type"] in _LATER:
            self._kept.add(str(event["requestId"]))

    def _finished(self, event: dict[str, object]) -> None:
        size = int(str(event["encodedDataLength"]).partition(".")[0])
        if str(event["requestId"]) not in self._kept and size:
            self.view.requests += 1
            self.view.bytes += size


async def _look(context: BrowserContext, url: str, views: tuple[View, View], *, slower: int = 1) -> None:
    """First with nothing of the site in the cache, then with all of it."""
    for view in views:
        page = await context.new_page()
        cdp = await context.new_cdp_session(page)
        await cdp.send("Network.enable")
        if view is views[0]:
            await cdp.send("Network.clearBrowserCache")
        await cdp.send("Network.emulateNetworkConditions", _SLOW)
        await cdp.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        line = Line(cdp)
        await page.goto(url, wait_until="load", timeout=240_000)
        view.paint_ms.append(await page.evaluate(_FIRST_PAINT))
        await page.wait_for_timeout(4_500)  # Scripts fetch scripts.
        view.requests, view.bytes = line.view.requests, line.view.bytes
        await page.close()


async def _context(browser: Browser, url: str, email: str | None, password: str | None) -> BrowserContext:
    context = await browser.new_context(viewport=NARROW, base_url=url, locale="en-GB")
    if email is not None:
        page: Page = await context.new_page()
        await log_in(page, email, str(password))
        await page.close()
    return context


async def measure(services: list[tuple[str, str, str]]) -> list[dict[str, tuple[View, View]]]:
    found = [{name: (View(), View()) for name in _PAGES} for _ in services]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
        for _ in range(_RUNS):
            for (url, email, password), views in zip(services, found, strict=True):
                stranger = await _context(browser, url, None, None)
                await _look(stranger, f"{url}/dashboard/login", views["log-in"])
                await stranger.close()
                owner = await _context(browser, url, email, password)
                page = await owner.new_page()
                await page.goto("/dashboard/transactions")
                link = await page.locator("#results td.is-title a").first.get_attribute("href")
                await page.close()
                for name in _PAGES[1:]:
                    await _look(owner, url + str(_PATHS.get(name, link)), views[name])
                await owner.close()
        await browser.close()
    return found


async def measure_pay_page(url: str) -> list[dict[str, tuple[View, View]]]:
    """The page of a link with its script and without."""
    found = {name: (View(), View()) for name in ("with scripts", "without")}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
        for _ in range(_RUNS):
            for name, views in found.items():
                context = await browser.new_context(
                    viewport=NARROW, locale="sw", java_script_enabled=name == "with scripts"
                )
                await _look(context, url, views, slower=_SLOWER)
                await context.close()
        await browser.close()
    return [found]


def _table(found: list[dict[str, tuple[View, View]]]) -> str:
    def cells(views: list[View]) -> str:
        return " | ".join(
            [
                " → ".join(str(each.requests) for each in views),
                " → ".join(f"{each.bytes:,}" for each in views),
                " → ".join(f"{statistics.median(each.paint_ms) / 1000:.1f} s" for each in views),
            ]
        )

    lines = [
        "| page | requests | bytes | first paint | again: requests | bytes | first paint |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in found[0]:
        first, second = ([views[name][at] for views in found] for at in (0, 1))
        lines.append(f"| {name} | {cells(first)} | {cells(second)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    words = sys.argv[1:]
    if len(words) == 1:
        print(_table(asyncio.run(measure_pay_page(words[0]))))
        sys.exit()
    if len(words) not in (3, 6):
        sys.exit(__doc__)
    print(_table(asyncio.run(measure([(words[at], words[at + 1], words[at + 2]) for at in range(0, len(words), 3)]))))
