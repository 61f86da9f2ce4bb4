"""The example programs run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_teachers_and_a_student_of_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "torch_teachers.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    right = re.search(r"the student is right on (\d+)%", done.stdout)
    assert right and int(right[1]) > 60, done.stdout
