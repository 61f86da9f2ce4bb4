"""How results look: lines of text, and tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return "" if share is None else f"{100 * share:.2f}%"


def duration(seconds: float | None) -> str:
    """Seconds in the unit in which they read best."""
    if seconds is None:
        return "in the clear"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.1f} us"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a terminal."""
    lines = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in lines]
    shown.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in shown)


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", note: str = ""
) -> str:
    """A table for a notebook; everything in it is escaped."""
    head = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    start = f"<p><b>{escape(caption)}</b></p>" if caption else ""
    end = f"<p><small>{escape(note)}</small></p>" if note else ""
    table_head = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f"{start}<table>{table_head}<tbody>{body}</tbody></table>{end}"
