"""Writes the build id into the wheel and the source distribution, because neither has a .git to ask.

Without a .git, as in a container, the variable SOURCE_COMMIT names the commit. A wheel of a source distribution has
that distribution's id.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildId(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        sys.path.insert(0, self.root)
        from malipo.build import FILE, UNKNOWN, of_checkout, of_file

        if of_file(root):
            return  # It is packed like every other file.
        build_id = os.environ.get("SOURCE_COMMIT") or of_checkout(root) or UNKNOWN
        self._folder = tempfile.TemporaryDirectory()
        written = Path(self._folder.name, FILE)
        written.write_text(build_id + "\n")
        build_data["force_include"][str(written)] = f"malipo/{FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
