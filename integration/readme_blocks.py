"""Finds the code blocks of a Markdown file that are marked for testing.

A mark is an HTML comment on the line before a fenced block:

    <!-- test: KIND [FILE] -->
    ```cpp
    ...
    ```

KIND says how the block is checked, see readme_test.py. Blocks without a mark are not checked.
FILE is a name under which later blocks can use the text.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(r"<!--\s*test:\s*(.*?)\s*-->")
_MARK_CONTENTS = re.compile(r"([\w-]+)(?:\s+([\w.-]+))?")
_FENCE = re.compile(r"( *)(```+|~~~+)")


@dataclass
class Block:
    kind: str
    file: str  # "" if it has no name
    line: int  # of the mark
    text: str


def marked_blocks(markdown, kinds):
    """Returns the marked blocks in their order. Raises ValueError for a mark that marks nothing or
    is of none of the kinds, and if there is no mark at all: such a README would be tested in name
    only."""
    lines = markdown.splitlines()
    blocks = []
    for number, line in enumerate(lines, start=1):
        mark = _MARK.search(line)
        if not mark:
            continue
        contents = _MARK_CONTENTS.fullmatch(mark[1])
        if not contents or contents[1] not in kinds:
            raise ValueError(f"line {number}: {mark[0]} is none of {', '.join(kinds)}")
        text = _fenced_text(lines[number:])
        if text is None:
            raise ValueError(f"line {number}: {mark[0]} has no complete code block after it")
        blocks.append(Block(contents[1], contents[2] or "", number, text))
    if not blocks:
        raise ValueError("no code block is marked for testing")
    return blocks


def _fenced_text(lines):
    """The text of the fenced block that begins with the first line, or None."""
    fence = _FENCE.match(lines[0]) if lines else None
    if not fence:
        return None
    indentation, marker = fence.groups()
    text = []
    for line in lines[1:]:
        if line.strip() == marker:
            return "".join(line + "\n" for line in text)
        text.append(line.removeprefix(indentation))
    return None
