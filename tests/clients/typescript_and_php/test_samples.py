"""What the clients' pages show is true: the samples of a page, one after the other, are a program that compiles."""

import re
import subprocess
from pathlib import Path

from tests.clients.typescript_and_php.programs import PHP, ROOT, TYPESCRIPT, built_typescript, here

# What a sample takes from the shop around it.
AROUND = """
declare const process: { env: Record<string, string | undefined> };
declare function markPaid(order: string | undefined, amount: number, event: string): Promise<void>;
"""
TSC = [str(TYPESCRIPT / "node_modules/.bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"]


def program(page: Path, language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return "\n".join(found)


def test_the_samples_for_typescript_compile(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "malipo-client").symlink_to(built_typescript().parent)
    (tmp_path / "readme.mts").write_text(program(TYPESCRIPT / "README.md", "ts") + AROUND)
    command = [*TSC, "--target", "es2022", "--lib", "es2022,dom", "readme.mts"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_samples_for_php_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "samples.php").write_text("<?php\n" + program(PHP / "README.md", "php"))
    subprocess.run([here("php"), "-l", "samples.php"], cwd=tmp_path, check=True, capture_output=True)


def test_the_controller_for_laravel_can_be_read() -> None:
    subprocess.run(
        [here("php"), "-l", str(ROOT / "examples/php/MalipoController.php")], check=True, capture_output=True
    )
