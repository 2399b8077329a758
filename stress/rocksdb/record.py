"""What the rounds of one crash test leave: rounds.jsonl, and a log of each round's db_stress."""

import json

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
