"""The examples of the documentation run, and the types hold."""

from __future__ import annotations

import re
from pathlib import Path

import shield_pate as sp

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "docs/python.md", ROOT / "README.md", ROOT / "python/README.md"]


def blocks(page: Path) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in found if "# not run here" not in block]


def test_examples_run():
    # The ten lines are on two pages.
    found = dict.fromkeys(block for page in PAGES for block in blocks(page))
    assert all(blocks(page) for page in PAGES)
    for block in found:
        exec(compile(block, "an example of the documentation", "exec"), {})


def test_every_public_name_is_explained():
    for name in sp.__all__:
        if name != "__version__":
            assert getattr(sp, name).__doc__, name
