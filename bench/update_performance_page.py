#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the tables of benchmark runs into Markdown pages.

Usage: update_performance_page.py PAGE... NAME=REPORT...

REPORT is what a benchmark has printed. In each PAGE, every fenced block that follows a line

    <!-- NAME: TITLE -->

is replaced by the part of that report that begins with this title, or, for the title "machine", by
what stands before the first one. Blocks of other names stay as they are.
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
        if line.startswith(("Took ", "All figures", "FAILED")):
            title = "machine"
        parts[title].append(line)
    return {title: "\n".join(lines).strip() for title, lines in parts.items()}


def updated(page, reports):
    """The page with the blocks of these reports replaced."""

    def block(match):
        marker, name, title = match.group(1, 2, 3)
        if name not in reports:
            return match.group(0)
        if title not in reports[name]:
            sys.exit(f'the report "{name}" has no part "{title}"')
        return f"{marker}```\n{reports[name][title]}\n```"

    return re.sub(r"(<!-- ([\w-]+): ([^\n]*?) -->\n)```\n.*?\n```", block, page, flags=re.DOTALL)


def main():
    pages = [argument for argument in sys.argv[1:] if "=" not in argument]
    assignments = [argument for argument in sys.argv[1:] if "=" in argument]
    if not pages or not assignments:
        sys.exit(__doc__)
    reports = {}
    for assignment in assignments:
        name, path = assignment.split("=", maxsplit=1)
        with open(path, encoding="utf-8") as file:
            reports[name] = sections(file.read())
    for path in pages:
        with open(path, encoding="utf-8") as file:
            page = updated(file.read(), reports)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
