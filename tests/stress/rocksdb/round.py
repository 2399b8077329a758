#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One round of the crash test: the filter policies that are tortured, what rounds leave in their record
(rounds.jsonl, and a log of each round's db_stress), and what db_crashtest.py starts as db_stress.

As that, it looks at the database that the last kill left, then becomes db_stress, so that it is what is
killed. Its output goes to round-N.log of the record. It refuses, which db_crashtest.py takes for a failure,
if a filter is damaged or not what it should be.
"""

import json
import os
import pathlib
import subprocess
import sys

DEFAULT = ("rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:10", "rocksieve.auto:10",
           "rocksieve.bloom:10:salted", "rocksieve.ribbon:10:verified",
           "rocksieve.bloom:10+partitioned", "rocksieve.range:12", "rocksieve.auto:12:range+partitioned")
BUILT_IN = "builtin"  # RocksDB's own filters: does the test itself hold?
PARTITIONED = "+partitioned"


class Policy:
    """One of --policies: a spec, or "builtin", and perhaps "+partitioned"."""

    def __init__(self, text):
        self.text = text
        self.partitioned = text.endswith(PARTITIONED)
        self.spec = text.removesuffix(PARTITIONED)
        if self.spec != BUILT_IN and not self.spec.startswith("rocksieve."):
            raise ValueError(f"\"{text}\" is no policy: it is SPEC or {BUILT_IN}, and may be followed "
                             f"by {PARTITIONED}; for example {DEFAULT[-1]}")

    @property
    def is_ours(self):
        return self.spec != BUILT_IN

    @property
    def has_listener(self):
        return self.spec.startswith("rocksieve.auto")

    @property
    def answers_ranges(self):
        return self.is_ours and "range" in self.spec.replace(".", ":").replace("+", ":").split(":")

    @property
    def family(self):
        """As `rocksieve inspect` names the only family that it may build; None for several."""
        return self.spec.split(":")[0] if self.is_ours and not self.has_listener else None

    @property
    def flags(self):
        """Flags of db_crashtest.py. Else it draws lots."""
        flags = ["--partition_filters=1", "--index_type=2"] if self.partitioned else []
        if self.answers_ranges:
            # No extractor that db_stress knows; and what it asks for less is iterated.
            flags += ["--prefix_size=-1", "--iterpercent=40", "--readpercent=15"]
        return flags

    @property
    def variables(self):
        """What shim.cc takes from the environment."""
        variables = {"ROCKSIEVE_STRESS_SPEC": self.spec} if self.is_ours else {}
        if self.has_listener:
            variables["ROCKSIEVE_STRESS_LISTENER"] = "1"
        if self.answers_ranges:
            variables["ROCKSIEVE_STRESS_RANGES"] = "1"
        return variables


# What db_stress says when all keys are as they must be after the kill.
VERIFIED = "Crash-recovery verification passed"


class Record:
    """The files in a directory. A round is one db_stress, from its start to the kill."""

    def __init__(self, directory):
        self._directory = directory
        self._list = directory / "rounds.jsonl"

    def begin_round(self, entry):
        """Notes what the last round left; returns where the new one is to log."""
        log = self._log(len(self.entries()))
        with open(self._list, "a", encoding="utf-8") as output:
            print(json.dumps(entry), file=output)
        return log

    def entries(self):
        if not self._list.exists():
            return []
        return [json.loads(line) for line in self._list.read_text(encoding="utf-8").splitlines()]

    def verified_kills(self):
        """Rounds that found a database that was killed, and all of its keys as they must be."""
        # The first finds none.
        return sum(VERIFIED in self._text(number) for number in range(1, len(self.entries())))

    def last_log(self):
        return self._log(len(self.entries()) - 1)

    def _log(self, number):
        return self._directory / f"round-{number}.log"

    def _text(self, number):
        log = self._log(number)
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


FILES_PER_ROUND = 16  # the youngest: what the killed round has written
DAMAGED, COULD_NOT_RUN = 1, 2  # exit codes of `rocksieve inspect`


def youngest_tables(database):
    return sorted(database.glob("*.sst"), key=lambda path: int(path.stem))[-FILES_PER_ROUND:]


def problem_of(policy, inspected):
    """What is not as it should be in what `rocksieve inspect` says of a file with a filter."""
    if not policy.is_ours:
        return None
    if inspected["filter_policy"] != policy.spec:
        return f"was written by {inspected['filter_policy']}, not {policy.spec}"
    if policy.answers_ranges and inspected["prefix_extractor"] != "rocksieve.range.file":
        return f"has a filter of which ranges are not asked, by {inspected['prefix_extractor']}"
    if policy.partitioned and inspected["layout"] != "partitioned":
        return f"has a filter whose layout is {inspected['layout']}"
    for block in inspected["blocks"]:
        if block["family"] == "none" and policy.has_listener:
            continue  # of a partition that is not worth the memory
        if not block["family"].startswith(policy.family or "rocksieve."):
            return f"has a filter of {block['family']}"
        if policy.spec.endswith(":salted") and block["header"]["salt_hex"] is None:
            return "has a filter without a salt"
    return None


def look_at_table(policy, command, path, entry):
    finished = subprocess.run([command, "inspect", "--json", path], capture_output=True, text=True)
    if finished.returncode == COULD_NOT_RUN:
        entry["unfinished"] += 1  # the kill came while it was written; a live one db_stress finds
        return
    inspected = json.loads(finished.stdout)
    problem = ("has a damaged filter" if finished.returncode == DAMAGED
               else problem_of(policy, inspected) if inspected["blocks"] else None)
    if problem is not None:
        entry["problems"].append(f"{path.name} {problem}")
    entry["tables"] += 1
    entry["filters"] += len(inspected["blocks"])


def look_at_log(policy, database, entry):
    """The log of the round that was killed."""
    log = database / "LOG"
    if not policy.is_ours or not log.exists():
        return
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if "rocksieve: a filter block" in line or "its own history of built filters" in line:
            entry["problems"].append(f"LOG: {line}")
        entry["listened"] += "through rocksieve.listener" in line


def look_at(policy, command, database):
    entry = {"tables": 0, "filters": 0, "unfinished": 0, "listened": 0, "problems": []}
    for path in youngest_tables(database):
        look_at_table(policy, command, path, entry)
    look_at_log(policy, database, entry)
    return entry


def main():
    environment = os.environ
    record = Record(pathlib.Path(environment["ROCKSIEVE_STRESS_RECORD"]))
    policy = Policy(environment["ROCKSIEVE_STRESS_POLICY"])
    flags = sys.argv[1:]
    database = next(flag.split("=", 1)[1] for flag in flags if flag.startswith("--db="))
    entry = look_at(policy, environment["ROCKSIEVE_STRESS_COMMAND"], pathlib.Path(database))
    log = record.begin_round(entry)
    if entry["problems"]:
        sys.exit("\n".join(entry["problems"]))
    with open(log, "w", encoding="utf-8") as output:
        print(" ".join(flags), file=output, flush=True)
        os.dup2(output.fileno(), sys.stdout.fileno())
    program = environment["ROCKSIEVE_STRESS_PROGRAM"]
    os.execv(program, [program, *flags])


if __name__ == "__main__":
    main()
