#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RocksDB's own blackbox crash test with rocksieve's filters.

Usage: ./run stress --rocksdb=SOURCE [--seconds=N] [--round-seconds=N] [--policies=POLICY,...]
                    [--work-dir=DIR]

Builds db_stress from the source tree, which must be of the installed RocksDB's version and is only
read, against the installed shared library. Then for each policy db_crashtest.py lets db_stress write,
read and compact at random, kills it, and starts it again with other options; the new one checks every
key. Before each start the youngest table files are looked at with `rocksieve inspect`: their filters
must be the policy's, and intact.

What db_crashtest.py starts as db_stress is this program, once more: it looks at the database that the
last kill left, then becomes db_stress, so that it is what is killed. It refuses, which db_crashtest.py
takes for a failure, if a filter is damaged or not what it should be.

Prints a table; a round is a kill after which all keys were as they must be. Exit codes: 0 all is well;
1 a policy failed, or had no round or no filter; 2 bad usage, or not the right source tree.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import source_tree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ROCKSIEVE_BUILD") or ROOT / "build").resolve()
# As many keys as are checked in a second or two, and files so small that there are many.
FLAGS = ["--max_key=100000", "--write_buffer_size=524288", "--target_file_size_base=524288"]
PATIENCE_SECONDS = 120  # beyond the time that db_crashtest.py should take
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


def play_round():
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


def policy_list(text):
    try:
        return [Policy(one) for one in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./run stress", usage=argparse.SUPPRESS,
                                     description=__doc__, add_help=True,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rocksdb", required=True, type=pathlib.Path, metavar="SOURCE",
                        help="RocksDB's source tree")
    parser.add_argument("--seconds", type=positive, default=120, help="for each policy [120]")
    parser.add_argument("--round-seconds", type=positive, default=15,
                        help="from a start of db_stress to its kill [15]")
    parser.add_argument("--policies", type=policy_list, default=",".join(DEFAULT),
                        help=f"specs, {BUILT_IN} for RocksDB's own filters; {PARTITIONED} may follow "
                             f"[{','.join(DEFAULT)}]")
    parser.add_argument("--work-dir", type=pathlib.Path,
                        help="where the databases are made, and left if a policy fails "
                             "[a temporary directory]")
    return parser.parse_args()


def build(source):
    """Returns the path of db_stress."""
    directory = BUILD / "stress"
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "build.log"
    print(f"stress: building db_stress into {directory}", file=sys.stderr)
    with open(log, "w", encoding="utf-8") as output:
        for command in (["cmake", "-S", HERE, "-B", directory, "-G", "Ninja",
                         f"-DROCKSDB_SOURCE={source}", f"-DROCKSIEVE_BUILD={BUILD}"],
                        ["cmake", "--build", directory]):
            if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode != 0:
                sys.exit(f"stress: db_stress could not be built, see {log}")
    return directory / "db_stress"


class CrashTest:
    """One policy's run of db_crashtest.py, in a directory of its own."""

    def __init__(self, policy, arguments, program, directory):
        self.policy = policy
        self._arguments, self._program, self._directory = arguments, program, directory
        self._record = Record(directory)
        self.failures = []
        self.seconds = 0.0

    def run(self):
        self._directory.mkdir()
        begin = time.monotonic()
        code, output = self._run_upstream()
        self.seconds = time.monotonic() - begin
        if code != 0:
            self.failures.append(f"db_crashtest.py ended with {code}:\n{output[-4000:]}")
        if self.rounds == 0:
            self.failures.append("no kill was followed by a verification: give it more "
                                 "--round-seconds, and --seconds for several of them")
        if self.policy.is_ours and self.filters == 0:
            self.failures.append("no filter was found in its databases' files: give it more "
                                 "--round-seconds")
        if self.policy.has_listener and self._sum("listened") == 0:
            self.failures.append("no log says that it follows rocksieve.listener")

    def _run_upstream(self):
        arguments = self._arguments
        databases = self._directory / "databases"
        databases.mkdir()
        environment = dict(os.environ, **self.policy.variables, TEST_TMPDIR=str(databases),
                           ROCKSIEVE_STRESS_PROGRAM=str(self._program),
                           ROCKSIEVE_STRESS_COMMAND=str(BUILD / "bin" / "rocksieve"),
                           ROCKSIEVE_STRESS_POLICY=self.policy.text,
                           ROCKSIEVE_STRESS_RECORD=str(self._directory))
        # -B: nothing is written beside the sources.
        command = [sys.executable, "-B", arguments.rocksdb / "tools" / "db_crashtest.py", "blackbox",
                   f"--stress_cmd={HERE / 'crash_test.py'}", f"--duration={arguments.seconds}",
                   f"--interval={arguments.round_seconds}", *FLAGS, *self.policy.flags]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        seconds = arguments.seconds + arguments.round_seconds + PATIENCE_SECONDS
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.failures.append(f"db_crashtest.py was not done after {seconds} seconds")
        except BaseException:  # interrupted: db_stress must not go on alone
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        return process.returncode, output.decode("utf-8", "backslashreplace")

    @property
    def rounds(self):
        return self._record.verified_kills()

    @property
    def filters(self):
        return self._sum("filters")

    def _sum(self, what):
        return sum(entry[what] for entry in self._record.entries())

    def row(self):
        return (self.policy.text, "yes" if self.policy.has_listener else "no", str(self.rounds),
                f"{self.seconds:.0f}", str(self.filters), str(len(self.failures)))

    def tell_failures(self):
        for failure in self.failures:
            print(f"stress: {self.policy.text}: {failure}", file=sys.stderr)
        print(f"stress: {self.policy.text}: its databases and logs are in {self._directory}, the last "
              f"is {self._record.last_log()}", file=sys.stderr)


def print_table(rows):
    rows = [("policy", "listener", "rounds", "seconds", "filters seen", "failures"), *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]), flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stress: ended by SIGTERM"))
    arguments = parse_arguments()
    arguments.rocksdb = arguments.rocksdb.resolve()
    problem = source_tree.problem_of(arguments.rocksdb, source_tree.installed_version())
    if problem is not None:
        print(f"stress: --rocksdb: {problem}", file=sys.stderr)
        sys.exit(2)
    program = build(arguments.rocksdb)
    if arguments.work_dir is not None:
        arguments.work_dir.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="rocksieve-stress-", dir=arguments.work_dir))
    tests = []
    for number, policy in enumerate(arguments.policies):
        print(f"stress: {policy.text}, {arguments.seconds} seconds", file=sys.stderr)
        test = CrashTest(policy, arguments, program, work / str(number))
        test.run()
        if test.failures:
            test.tell_failures()
        else:
            shutil.rmtree(work / str(number) / "databases")
        tests.append(test)
    print_table([test.row() for test in tests])
    if any(test.failures for test in tests):
        sys.exit(1)
    shutil.rmtree(work)


if __name__ == "__main__":
    play_round() if "ROCKSIEVE_STRESS_RECORD" in os.environ else main()
