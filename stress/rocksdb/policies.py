"""The filter policies that are tortured, and how db_stress is given each."""

DEFAULT = ("rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:10", "rocksieve.auto:10",
           "rocksieve.bloom:10:salted", "rocksieve.ribbon:10:verified",
           "rocksieve.bloom:10+partitioned")
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
    def family(self):
        """As `rocksieve inspect` names the only family that it may build; None for several."""
        return self.spec.split(":")[0] if self.is_ours and not self.has_listener else None

    @property
    def flags(self):
        """Flags of db_crashtest.py. Else it draws lots."""
        return ["--partition_filters=1", "--index_type=2"] if self.partitioned else []

    @property
    def variables(self):
        """What shim.cc takes from the environment."""
        variables = {"ROCKSIEVE_STRESS_SPEC": self.spec} if self.is_ours else {}
        if self.has_listener:
            variables["ROCKSIEVE_STRESS_LISTENER"] = "1"
        return variables
