# SPDX-License-Identifier: Apache-2.0
"""What all documents keep to: links and paths that lead somewhere, a place on the map, and the words
of docs/glossary.md. Names in the code keep to those words, too, but for what users may have typed."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent  # no build is needed
GLOSSARY = ROOT / "docs" / "glossary.md"
PLACES = ("*.md", "docs/**/*.md", "examples/**/*.md", "tests/fuzz/*.md")
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(place))


def blanked(pattern, text):
    """With spaces for what matches, so that lines keep their numbers."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def without_code(markdown):
    fences = blanked(r"(?ms)^ *(```+).*?^ *\1$", markdown)
    return blanked(r"(`+).+?\1", fences)


def prose(markdown):
    """What a reader reads as English: neither code nor the addresses of links."""
    return blanked(r"\]\([^)]*\)", blanked(r"<!--.*?-->", without_code(markdown)))


def retired_words(glossary):
    """The last cells of the rows of all tables whose last column is called `retired`."""
    words, inside = [], False
    for line in glossary.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == "retired":
            inside = True
        elif inside and not cells[-1].startswith("---"):
            words += [word.strip() for word in cells[-1].split(",") if word.strip()]
    return words


def uses_of(words, text):
    """(line number, word) for each use, in any case, in the singular or plural, across lines."""
    found = []
    for word in words:
        pattern = r"\b" + r"\s+".join(map(re.escape, word.split())) + r"(s|es)?\b"
        for match in re.finditer(pattern, text, re.IGNORECASE):
            found.append((text.count("\n", 0, match.start()) + 1, word))
    return sorted(found)


CODE = ("include", "lib", "plugin", "support", "tools", "bench", "examples", "tests/fuzz")
# Retired words that stand in names still, and why. No other may come back, and one of these that is
# used no more has to go from here.
STILL_IN_CODE = {
    # What users may have typed: JSON keys, metrics, an option of specs, RouteScope::kNotBelowAsker.
    "missing key", "useless read", "foreign filter", "future filter", "incomplete filter", "thorough",
    "asker",
    "attribute",  # of SVG, of POSIX and of the compiler: no part of a row
}


def words_of(name):
    """kMissingKeys and missing_keys are both "k missing keys" or "missing keys"."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)).lower()


def retired_in_names(words, code):
    """Those of the words that names in the code have, in the singular or plural."""
    names = "\n".join(map(words_of, set(re.findall(r"[A-Za-z_]\w*", code))))
    return {word for word in words
            if re.search(r"\b" + re.escape(word.lower()) + r"(s|es)?\b", names)}


def anchor(heading):
    """As GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def dead_links(path):
    text = without_code(path.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, fragment = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = path.parent / name if name else path
        if not file.exists():
            yield target
        elif fragment and fragment not in map(
                anchor, re.findall(r"(?m)^#+ (.*)$", file.read_text())):
            yield target


def missing_paths(markdown):
    """Names in code of what should be in the repository, and is not. Where a name stands for
    something to be made, it has capitals."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}
    text = blanked(r"(?ms)^ *(```+).*?^ *\1$", markdown)
    for code in re.findall(r"`([^`\n]+)`", text):
        for word in re.findall(r"[\w./*-]+/[\w./*-]+", code):
            if word.split("/")[0] not in folders or re.search(r"[A-Z]", word):
                continue
            if not any(ROOT.glob(word.rstrip("/."))):
                yield word


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        self.assertGreater(len(DOCUMENTS), 30)
        self.assertEqual([], [f"{path.relative_to(ROOT)}: {target}"
                              for path in DOCUMENTS for target in dead_links(path)])

    def test_paths_exist(self):
        self.assertEqual([], [f"{path.relative_to(ROOT)}: {word}" for path in DOCUMENTS
                              for word in missing_paths(path.read_text())])

    def test_no_retired_words(self):
        words = retired_words(GLOSSARY.read_text())
        self.assertIn("asking side", words)
        self.assertEqual([], [f"{path.relative_to(ROOT)}:{line}: {word}"
                              for path in DOCUMENTS if path != GLOSSARY
                              for line, word in uses_of(words, prose(path.read_text()))])

    def test_no_retired_words_in_names(self):
        code = "\n".join(path.read_text() for folder in CODE
                         for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h"))
        self.assertEqual(STILL_IN_CODE, retired_in_names(retired_words(GLOSSARY.read_text()), code))

    def test_every_page_is_on_the_map(self):
        for page in (ROOT / "docs").glob("**/*.md"):
            name = page.relative_to(ROOT / "docs")
            if name.parts[0] == "performance":
                self.assertIn(f"]({name})", (ROOT / "docs" / "performance.md").read_text())
            elif name.name != "README.md":
                self.assertIn(f"]({name})", (ROOT / "docs" / "README.md").read_text())

    def test_what_is_wrong_is_found(self):
        self.assertEqual(["odd word", "other"], retired_words(
            "| a | b |\n|---|---|\n| x | y |\n\n| term | retired |\n|---|---|\n"
            "| good | odd word, other |\n| fine | |\n"))
        self.assertEqual([(1, "odd word"), (9, "odd word")], uses_of(["odd word"], prose(
            "An Odd\nword.\n\n`odd word`\n\n```\nodd word\n```\n[two odd words](odd word) oddwords")))
        self.assertEqual(["lib/none.h", "docs/no*.md"], list(missing_paths(
            "`lib/none.h` `docs/no*.md` `docs/*.md` `lib/join/` `lib/NAME.h` `a/b`\n\n"
            "```\nlib/none.h `lib/none.h`\n```\n")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
