"""The examples of the documentation run, and the types hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from importlib import metadata
from pathlib import Path

import pytest

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


def test_a_source_distribution_holds_all_that_it_builds_from(tmp_path):
    if shutil.which("maturin") is None or shutil.which("cargo") is None:
        pytest.skip("maturin and cargo make source distributions, and are not installed")
    page = (ROOT / "docs/python.md").read_text()
    [command] = re.findall(r"^\$ (maturin sdist .*)$", page, re.MULTILINE)
    command = command.replace("--out dist", f"--out {tmp_path}")
    made = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    [archive] = tmp_path.iterdir()
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    [sources] = [path for path in tmp_path.iterdir() if path.is_dir()]
    describe = ["cargo", "metadata", "--format-version=1", "--locked", "--offline", "--no-deps"]
    subprocess.run(describe, cwd=sources, check=True, stdout=subprocess.DEVNULL)
    # A file that the compiler reads must be inside its crate, or it stays behind.
    included = 0
    for source in sources.glob("*/**/src/**/*.rs"):
        for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text()):
            assert (source.parent / name).is_file(), f"{source} includes {name}"
            included += 1
    assert included > 5
    licences = {path.name for path in sources.rglob("LICENSE-*")}
    assert licences == {"LICENSE-MIT", "LICENSE-APACHE"}
    # The links of the repository are files here.
    assert all("Copyright" in path.read_text() for path in sources.rglob("LICENSE-*"))


def test_the_package_brings_its_licences():
    names = {path.name for path in metadata.files("shield-pate") or []}
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= names
