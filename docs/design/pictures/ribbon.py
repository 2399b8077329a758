#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of ../ribbon.md, beside this file. Takes some seconds; always the same.

ribbon_row.svg      what a key selects (drawn)
ribbon_walk.svg     rows waiting for a slot, bucket by bucket (simulated)
ribbon_backlog.svg  what a larger backlog saves and costs (simulated)

The simulation knows nothing of the C++ code: it solves random equations of the form that
docs/formats/ribbon.md describes, with the builder's rule for the lengths of buckets.
"""

import pathlib
import random
import sys

SLOTS_PER_GROUP, REACH = 8, 64
KEYS_PER_BUCKET = 256
FIXED_GROUPS = 32  # 256 slots
TRIES = 50
MOST_ABOVE_AIM = 12  # a backlog that is larger than aimed at by more is not taken


def three_groups(rng):
    return 0, 1, 4 + rng.getrandbits(2)


def two_groups(rng):
    return 0, 1 + rng.randrange(7)


def all_groups(_):
    return range(8)


def random_row(rng, groups, choose_groups):
    """The first slot that a row may select, and which of the 64 from there on it does."""
    bits = 0
    for group in choose_groups(rng):
        bits |= rng.getrandbits(SLOTS_PER_GROUP) << SLOTS_PER_GROUP * group
    return SLOTS_PER_GROUP * rng.randrange(groups), bits


class Equations:
    def __init__(self):
        self.rows = {}  # by the slot that is theirs

    def add(self, rows, base):
        """All of them; returns their slots. Or none, and returns None, if they depend on each
        other."""
        added = []
        for first, bits in rows:
            slot = base + first
            while bits:
                zeros = (bits & -bits).bit_length() - 1
                slot, bits = slot + zeros, bits >> zeros
                if slot not in self.rows:
                    self.rows[slot] = bits
                    added.append(slot)
                    break
                bits ^= self.rows[slot]
            else:
                self.remove(added)
                return None
        return added

    def remove(self, slots):
        for slot in slots:
            del self.rows[slot]

    def free(self, begin, end):
        return sum(slot not in self.rows for slot in range(begin, end))


def bucket_sizes(rng, buckets):
    sizes = [0] * buckets
    for _ in range(buckets * KEYS_PER_BUCKET):
        sizes[rng.randrange(buckets)] += 1
    return sizes


def steer(backlog, buckets, seed, choose_groups=three_groups):
    """Rows waiting after each bucket, the share of slots that stay empty, and the share of buckets
    whose first length cannot be solved."""
    rng = random.Random(seed)
    equations = Equations()
    end = keys = empty = failures = 0  # `end` in groups
    waiting = []
    for size in bucket_sizes(rng, buckets):
        keys += size
        aimed = max(1, round((keys + empty - backlog) / SLOTS_PER_GROUP) - end)
        for attempt in range(TRIES):  # 1 more, 1 less, 2 more, 3 more ..
            groups = max(1, aimed + (attempt if attempt < 2 else -1 if attempt == 2 else attempt - 1))
            begin_slot, end_slot = end * SLOTS_PER_GROUP, (end + groups) * SLOTS_PER_GROUP
            rows = [random_row(rng, groups, choose_groups) for _ in range(size)]
            added = equations.add(rows, begin_slot)
            if added is None:
                continue
            left = keys + empty + equations.free(begin_slot, end_slot) - end_slot
            if left <= backlog + MOST_ABOVE_AIM:
                break
            equations.remove(added)
        failures += attempt > 0
        empty += equations.free(begin_slot, end_slot)
        end += groups
        waiting.append(left)
    return waiting, empty / (end * SLOTS_PER_GROUP), failures / buckets


def fixed(buckets, seed):
    """Keys beyond slots after each bucket, if every bucket had the same length."""
    walk, total = [], 0
    for size in bucket_sizes(random.Random(seed), buckets):
        total += size - FIXED_GROUPS * SLOTS_PER_GROUP
        walk.append(total)
    return walk


# ---- Drawing -------------------------------------------------------------------------------------

INK, FAINT, FIRST, SECOND, THIRD = "#333", "#ddd", "#1b6ca8", "#d1495b", "#3a7d44"


class Drawing:
    def __init__(self, width, height):
        self._size = width, height
        self._parts = []

    def rectangle(self, x, y, width, height, fill, stroke=INK):
        self._parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                           f'fill="{fill}" stroke="{stroke}"/>')

    def line(self, points, color=INK, width=1.0, dash=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                           f'stroke-width="{width:g}"{dashes}/>')

    def text(self, x, y, text, color=INK, anchor="start", size=13):
        self._parts.append(f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}" '
                           f'font-size="{size}">{text}</text>')

    def save(self, name):
        width, height = self._size
        path = pathlib.Path(__file__).parent / name
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n'
            + "\n".join(self._parts) + "\n</svg>\n", encoding="ascii")


class Plot(Drawing):
    """A drawing with axes; positions are in the units of the axes."""

    LEFT, TOP, RIGHT, BOTTOM = 60, 20, 45, 50

    def __init__(self, width, height, x_range, y_range, x_label, y_label, x_step, y_step):
        super().__init__(width, height)
        self._x, self._y = x_range, y_range
        self._width = width - self.LEFT - self.RIGHT
        self._height = height - self.TOP - self.BOTTOM
        for number in range(round((y_range[1] - y_range[0]) / y_step) + 1):
            y = y_range[0] + number * y_step
            self.line([self.at(x_range[0], y), self.at(x_range[1], y)], FAINT)
            self.text(self.LEFT - 8, self.at(0, y)[1] + 4, f"{y:g}", anchor="end")
        for number in range(round((x_range[1] - x_range[0]) / x_step) + 1):
            x = x_range[0] + number * x_step
            self.text(self.at(x, 0)[0], height - self.BOTTOM + 18, f"{x:g}", anchor="middle")
        self.text(width / 2, height - 10, x_label, anchor="middle")
        self.text(self.LEFT + 8, self.TOP + 14, y_label)

    def at(self, x, y):
        (x0, x1), (y0, y1) = self._x, self._y
        return (self.LEFT + (x - x0) / (x1 - x0) * self._width,
                self.TOP + (y1 - y) / (y1 - y0) * self._height)

    def curve(self, points, color, **style):
        self.line([self.at(x, y) for x, y in points], color, 2, **style)

    def label(self, x, y, text, color, anchor="start"):
        self.text(*self.at(x, y), text, color, anchor)


def draw_row():
    """Ten groups as columns of eight slots, F = 5; a row's three chunks."""
    drawing = Drawing(760, 300)
    rng = random.Random(5)
    cell, left, top, gap, columns = 8, 30, 60, 10, 5
    for group in range(10):
        x = left + group * (columns * cell + gap + 20)
        chunk = {2: FIRST, 3: FIRST, 7: FIRST}.get(group)
        coefficients = rng.getrandbits(8) | 1 if chunk else 0
        drawing.text(x + columns * cell / 2, top - 10, f"g + {group - 2}" if group > 2 else
                     ("g" if group == 2 else ""), chunk or INK, "middle")
        for slot in range(SLOTS_PER_GROUP):
            selected = coefficients >> slot & 1
            for column in range(columns):
                drawing.rectangle(x + column * cell, top + slot * 2 * cell, cell, 2 * cell,
                                  chunk if selected else "white")
            if chunk:
                drawing.text(x - 11, top + slot * 2 * cell + 13, str(selected), chunk, size=12)
    bottom = top + 16 * cell
    drawing.text(left, bottom + 28, "A group: 8 slots of F bits (here 5), stored as F bytes, one "
                 "for each column.")
    drawing.text(left, bottom + 50, "A key selects slots of the groups g, g + 1 and one of g + 4 "
                 "to g + 7, by three bytes of its hash.", FIRST)
    drawing.text(left, bottom + 72, "The XOR of the selected slots, column by column, is the "
                 "key's fingerprint. In bytes: AND, XOR, parity.")
    drawing.save("ribbon_row.svg")


def draw_walk(buckets=400):
    plot = Plot(760, 320, (0, buckets), (-600, 400), "bucket",
                "keys for which the buckets so far have no slot", 50, 200)
    walk, (waiting, _, _) = fixed(buckets, 3), steer(20, buckets, 3)
    plot.curve(enumerate(walk), SECOND)
    plot.curve(enumerate(waiting), FIRST)
    plot.line([plot.at(0, REACH), plot.at(buckets, REACH)], INK, 1, "4 4")
    plot.label(buckets * 0.98, REACH + 20, "64: as far as a row reaches", INK, "end")
    plot.label(buckets * 0.6, -350, "all buckets of 48 groups", SECOND, "end")
    plot.label(buckets * 0.98, -70, "steered: about 20, always", FIRST, "end")
    plot.save("ribbon_walk.svg")


def draw_backlog(buckets=300):
    aims = list(range(0, 41, 4))
    results = []
    for aim in aims:
        if sys.stderr.isatty():
            print(f"\r\033[Ksimulating a backlog of {aim}", end="", file=sys.stderr, flush=True)
        results.append(steer(aim, buckets, 7))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    plot = Plot(760, 320, (0, 40), (0, 100), "backlog aimed at (rows)",
                "", 4, 20)
    scale = 40  # a percent of empty slots is drawn as long as 40 percent of the buckets
    plot.curve([(aim, 100 * failures) for aim, (_, _, failures) in zip(aims, results)], SECOND)
    plot.curve([(aim, 100 * scale * empty) for aim, (_, empty, _) in zip(aims, results)], FIRST)
    for tenths in (5, 10, 15, 20):
        plot.label(41, tenths / 10 * scale, f"{tenths / 10:g}", FIRST)
    plot.label(34, 85, "buckets whose first length cannot be solved, % (left)", SECOND, "end")
    plot.label(5, 55, "slots that stay empty, % (right)", FIRST)
    plot.save("ribbon_backlog.svg")
    for aim, (_, empty, failures) in zip(aims, results):
        print(f"backlog {aim:2}: {100 * empty:.2f} % of the slots empty, first length fails for "
              f"{100 * failures:.0f} % of the buckets")


def compare_rows(buckets=300):
    for name, choose_groups in (("two bytes", two_groups), ("three bytes", three_groups),
                                ("all eight", all_groups)):
        _, empty, failures = min((steer(aim, buckets, 11, choose_groups) for aim in (16, 20, 24)),
                                 key=lambda result: result[1])
        print(f"rows of {name}: at best {100 * empty:.2f} % of the slots empty, first length fails "
              f"for {100 * failures:.0f} % of the buckets")


def main():
    draw_row()
    draw_walk()
    draw_backlog()
    compare_rows()


if __name__ == "__main__":
    main()
