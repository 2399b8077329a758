# SPDX-License-Identifier: Apache-2.0
"""Joins on Dask, with two workers that are processes of their own, beside joins of Python's sets."""

import os
import signal
import threading
import time
import unittest

import rocksieve.dask
import shards
from distributed import Client, LocalCluster
from shards import Sides, damage, load, whole_key


def rows_of(frame):
    return sorted(frame.compute()[["key", "value"]].itertuples(index=False, name=None))


class Joins(shards.Joins, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                   silence_logs=50)
        cls.client = cls.engine = Client(cls.cluster)
        cls.few = Sides(6000, 3000, 60)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    joins = rocksieve.dask
    rows_of = staticmethod(rows_of)

    @staticmethod
    def of_side(frame, side):
        return frame[frame["side"] == side]

    def test_what_is_wrong_names_the_shard(self):
        sides = Sides(6000, 3000, 10)
        found = rocksieve.dask.anti_join(self.client, sides.left, sides.right)
        load(sides.right[0], [(b"new", b"")])
        with self.assertRaisesRegex(Exception, f"{sides.right[0]}: its keys are not those of an earlier"):
            found.compute()
        damage(sides.left[1])
        with self.assertRaisesRegex(Exception, f"{sides.left[1]}: .*sst"):
            rocksieve.dask.anti_join(self.client, sides.left, sides.right).compute()
        with self.assertRaisesRegex(ValueError, "no shards"):
            rocksieve.dask.semi_join(self.client, [], sides.left)

    def test_a_worker_is_killed(self):
        _, only = self.few.matches("left", whole_key)
        for delay in (0.1, 0.5):
            def kill():
                time.sleep(delay)
                workers = self.client.scheduler_info()["workers"]
                os.kill(self.client.run(os.getpid, workers=[next(iter(workers))]).popitem()[1],
                        signal.SIGKILL)
            thread = threading.Thread(target=kill)
            thread.start()
            try:
                self.assertEqual(only, rows_of(rocksieve.dask.anti_join(self.client, self.few.left,
                                                                        self.few.right)))
            except AssertionError:
                raise
            except Exception:  # Dask gives up where all copies of a filter are lost: an error, not fewer rows
                pass
            thread.join()
            self.client.wait_for_workers(2, timeout=60)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
