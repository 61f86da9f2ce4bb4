"""The notebooks run from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(notebook, monkeypatch, program):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PATH", f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    content = nbformat.read(notebook, as_version=4)
    client = nbclient.NotebookClient(content, timeout=300, kernel_name="python3")
    client.execute()
    if folder := os.environ.get("SHIELD_NOTEBOOKS"):
        nbformat.write(content, Path(folder) / notebook.name)
