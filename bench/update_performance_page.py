#!/usr/bin/env python3
"""Puts the tables of a run of the benchmark into a Markdown page.

Usage: update_performance_page.py REPORT PAGE

REPORT is what `./run bench` has printed. In PAGE, every fenced block that follows a line

    <!-- bench: TITLE -->

is replaced by the part of the report that begins with this title, or, for "machine", by what stands
before the first title.
"""

import re
import sys


def sections(report):
    """The parts of a report by their titles, which are in capitals."""
    title, parts = "machine", {"machine": []}
    for line in report.splitlines():
        if re.fullmatch(r"[A-Z][A-Z ,]+", line):
            title = line
            parts[title] = []
        if line.startswith(("Took ", "FAILED")):
            title = "machine"
        parts[title].append(line)
    return {title: "\n".join(lines).strip() for title, lines in parts.items()}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        parts = sections(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        page = file.read()

    def block(match):
        title = match.group(2)
        if title not in parts:
            sys.exit(f'{sys.argv[1]} has no part "{title}"')
        return f"{match.group(1)}```\n{parts[title]}\n```"

    page = re.sub(r"(<!-- bench: (.*?) -->\n)```\n.*?\n```", block, page, flags=re.DOTALL)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
