"""Salaries in a spreadsheet, and what the office does with them in the pages."""

from pathlib import Path

from openpyxl import Workbook
from playwright.async_api import Page

HEADER = ["Na.", "Jina", "Namba ya simu", "Mtandao", "Mshahara", "Namba ya mfanyakazi"]
NAMES = ("Asha Juma", "Baraka Mushi", "Celina Mrema", "Daudi Komba", "Eliza Shayo", "Fadhili Ngowi", "Grace Swai")
# Prefix and name of each network's numbers.
NETWORKS = (("754", "M-Pesa"), ("655", "Tigo"), ("684", "Airtel Money"), ("621", "Halotel"))
MISTAKES = {
    # Row in the file → column, and what stands there by mistake.
    12: (2, "07549"),
    47: (4, "elfu kumi"),
    133: (3, "T-Pesa"),
    200: (2, "7.54E+08"),
    258: (4, 100),
}


def write_salaries(path: Path, count: int = 300, *, first: int = 100) -> Path:
    """One line for each employee, five of them with a mistake, and the sum at the end."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(HEADER)
    for number in range(1, count + 1):
        prefix, network = NETWORKS[number % 4]
        line: list[object] = [
            number,
            f"{NAMES[number % len(NAMES)]} {number}",
            # A number without its zero, as spreadsheets keep it. Those that end in 1xx are special to the simulator.
            int(f"{prefix}{first + number // 99}{number % 99 + 1:03}"),
            network,
            5_000 + number,
            f"W-{number:03}",
        ]
        if mistake := MISTAKES.get(number + 1):
            line[mistake[0]] = mistake[1]
        sheet.append(line)
    book.save(path)
    return path


async def send_file(page: Page, file: Path) -> None:
    """Up to the page that shows its lines."""
    await page.goto("/dashboard/batches/new")
    await page.locator("[name=file]").set_input_files(file)
    await page.locator("main form .button.primary").click()
    await page.wait_for_url("**/drafts/drf_*")


async def choose_password(page: Page, link: str, password: str) -> None:
    await page.goto(link)
    await page.get_by_label("New password").fill(password)
    await page.get_by_label("Repeat the new password").fill(password)
    await page.get_by_role("button", name="Save the password").click()


async def confirm_if_asked(page: Page, password: str) -> None:
    """Whoever has logged in a while ago types the password again."""
    if "/confirm" in page.url:
        await page.locator("[name=confirm_password]").fill(password)
        await page.locator("main form .button.primary").click()
