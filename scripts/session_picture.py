#!/usr/bin/env python3
"""Draws what `make run` printed as a picture of a terminal: docs/images/session.svg.

    make run | scripts/session_picture.py > docs/images/session.svg
"""

import sys
from xml.sax.saxutils import escape

WIDTH = 104
LINE = 18
# Of an answer, so many lines; the rest is said to be there.
MOST = 3
COLORS = {"call": "#8ec07c", "refused": "#fb8b6a", "note": "#928374", "add": "#b8bb26", "cut": "#fb8b6a"}
PLAIN = "#d5c4a1"


def kind(line):
    if line.startswith("> "):
        return "call"
    if line.startswith("  refused:"):
        return "refused"
    if line.startswith("  (") and line.endswith("ms)"):
        return "note"
    if line.startswith("+"):
        return "add"
    if line.startswith("-"):
        return "cut"
    return ""


def shortened(text):
    """The lines of the session, long answers cut to their beginning."""
    answer = 0
    for line in text.splitlines():
        is_answer = line.startswith("  ") and kind(line) != "note"
        answer = answer + 1 if is_answer else 0
        if answer > MOST:
            continue
        yield line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..."


def main():
    lines = list(shortened(sys.stdin.read()))
    height = LINE * (len(lines) + 2)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="900" height="{height}" rx="8" fill="#282828"/>',
    ]
    for index, line in enumerate(lines):
        color = COLORS.get(kind(line), PLAIN)
        out.append(
            f'<text x="16" y="{LINE * (index + 2)}" fill="{color}" xml:space="preserve">'
            f"{escape(line)}</text>"
        )
    out.append("</svg>")
    print("\n".join(out))


main()
