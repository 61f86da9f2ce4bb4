"""The `shield` program, as the command that the package installs."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> None:
    """Runs the program with the arguments of this process."""
    # Python would note Ctrl-C and wait for the program to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(_native.program(["shield", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
