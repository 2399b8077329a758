#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A join over a link with delay, beside sending the sorted keys through zstd, and rsync of the files.

Two network namespaces, each with a tunnel device; a process carries packets from one to the other, at
the link's rate, after the delay, and drops what would wait for more than 100 ms: so TCP behaves as it
does on such a link. Each way learns the same: which keys only one of the sides has. The delay is that
of a round trip. "Delays" are how many more seconds a way takes than on a link of the same rate without
delay, in delays. Needs root, /dev/net/tun, ip, zstd and rsync; where one is missing, says so and ends
with exit code 0.
"""

import collections
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from processes import ROCKSIEVE, key_of, load, parser_of

HERE, THERE = "rocksieve-here", "rocksieve-there"  # namespaces
ADDRESSES = {HERE: "10.213.7.1", THERE: "10.213.7.2"}
PORT = 7420
LONGEST_QUEUE_SECONDS = 0.1
TUNSETIFF, IFF_TUN, IFF_NO_PI, MOST_PACKET_BYTES = 0x400454CA, 1, 0x1000, 2048


def tunnel_in(namespace):
    """A device there, whose packets are read and written here."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}", encoding="ascii") as file:
        if libc.setns(file.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tunnel", IFF_TUN | IFF_NO_PI))
    return device


class Direction:
    def __init__(self, source, target):
        self.source, self.target = source, target
        self.packets = collections.deque()  # when it arrives, and the packet
        self.free_at = 0.0  # when the link has carried what it has
        self.bytes = 0

    def take(self, delay, rate):
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(self.source, MOST_PACKET_BYTES)
                now = time.monotonic()
                if self.free_at - now > LONGEST_QUEUE_SECONDS:
                    continue
                self.free_at = max(self.free_at, now) + len(packet) / rate
                self.packets.append((self.free_at + delay, packet))
                self.bytes += len(packet)

    def deliver(self):
        """The seconds until the next one is due; None if there is none."""
        while self.packets:
            left = self.packets[0][0] - time.monotonic()
            if left > 0:
                return left
            with contextlib.suppress(OSError):
                os.write(self.target, self.packets.popleft()[1])
        return None


def carry(delay, rate):
    """Packets both ways, until the standard input ends; then prints how many bytes."""
    devices = [tunnel_in(namespace) for namespace in (HERE, THERE)]
    ways = [Direction(*devices), Direction(*reversed(devices))]
    print("ready", flush=True)
    while True:
        due = [left for way in ways if (left := way.deliver()) is not None]
        ready, _, _ = select.select([0, *devices], [], [], min(due, default=None))
        if 0 in ready:
            break
        for way in ways:
            way.take(delay / 2, rate)
    print(sum(way.bytes for way in ways))


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def link(delay, rate, carried):
    """Sets carried["bytes"] in the end."""
    for namespace in ADDRESSES:
        ip("netns", "add", namespace)
    carrier = subprocess.Popen([sys.executable, __file__, f"--carry={delay},{rate}"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert carrier.stdout.readline() == "ready\n"
        for namespace, address in ADDRESSES.items():
            ip("-n", namespace, "address", "add", f"{address}/30", "dev", "tunnel")
            ip("-n", namespace, "link", "set", "tunnel", "up")
        yield
        carried["bytes"] = int(carrier.communicate()[0])
    finally:
        carrier.kill()
        carrier.wait()
        for namespace in ADDRESSES:
            ip("netns", "delete", namespace)


def inside(namespace):
    return ["ip", "netns", "exec", namespace]


@contextlib.contextmanager
def running(*command):
    """A server there, once it listens."""
    process = subprocess.Popen([*inside(THERE), *map(str, command)])
    try:
        while f":{PORT} " not in subprocess.run(["ss", "-N", THERE, "-Hltn"], check=True, text=True,
                                                stdout=subprocess.PIPE).stdout:
            assert process.poll() is None, command
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def timed(*command):
    begin = time.monotonic()
    subprocess.run([*inside(HERE), *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def by_join(here, there):
    with running(ROCKSIEVE, "serve", f"--db={there}/db", f"--listen={ADDRESSES[THERE]}:{PORT}",
                 "--insecure", "--insecure-network", "--quiet"):
        return timed(ROCKSIEVE, "join", f"--db={here}/db", "--op=symmetric", "--insecure",
                     "--insecure-network", f"--remote={ADDRESSES[THERE]}:{PORT}", f"--output={here}/rows")


def by_zstd(here, there):
    send = ("import socket,subprocess; s = socket.create_server(('', {0})).accept()[0]; "
            "subprocess.run(['zstd', '-qc', '{1}/keys'], stdout=s, check=True)").format(PORT, there)
    receive = f"exec 3<>/dev/tcp/{ADDRESSES[THERE]}/{PORT}; zstd -qdc <&3 | comm -3 {here}/keys -"
    with running(sys.executable, "-c", send):
        return timed("bash", "-c", receive)


def by_rsync(here, there):
    """The files into a copy of the own ones; comparing them with the own comes on top."""
    shutil.copytree(here / "db", here / "copy")
    config = there / "rsyncd.conf"
    config.write_text(f"use chroot = no\n[db]\npath = {there}/db\n")
    with running("rsync", "--daemon", "--no-detach", f"--port={PORT}", f"--config={config}"):
        seconds = timed("rsync", "--recursive", "--delete", f"rsync://{ADDRESSES[THERE]}:{PORT}/db/",
                        here / "copy")
    shutil.rmtree(here / "copy")
    return seconds


WAYS = {"join": by_join, "sorted keys, zstd": by_zstd, "rsync": by_rsync}


def missing():
    if os.geteuid() != 0:
        return "root"
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun"
    return next((program for program in ("ip", "ss", "zstd", "rsync") if not shutil.which(program)), None)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000, help="of each side [1000000]")
    parser.add_argument("--overlaps", default="0,50,98,100", help="percent [0,50,98,100]")
    parser.add_argument("--delay", type=float, default=50, help="milliseconds, there and back [50]")
    parser.add_argument("--mbit", type=float, default=100, help="per second [100]")
    parser.add_argument("--json", help="write the figures to FILE")
    parser.add_argument("--carry", help="the process between both, with its delay and rate")
    arguments = parser.parse_args()
    if arguments.carry:
        return carry(*map(float, arguments.carry.split(",")))
    if (what := missing()) is not None:
        print(f"skipped: there is no {what}")
        return None
    delay, rate = arguments.delay / 1000, arguments.mbit * 1e6 / 8
    rows = []
    print(f"{arguments.keys:,} keys of each side, {arguments.delay:g} ms, {arguments.mbit:g} Mbit/s\n"
          f"{'overlap':>8}  {'':17}  {'seconds':>7}  {'of them transfer':>16}  {'MB':>6}  {'delays':>6}")
    for overlap in map(float, arguments.overlaps.split(",")):
        with tempfile.TemporaryDirectory(prefix="rocksieve-") as directory:
            sides = [pathlib.Path(directory) / name for name in ("here", "there")]
            for side, first in zip(sides, (0, int(arguments.keys * (1 - overlap / 100)))):
                side.mkdir()
                lines = [b"%016x\n" % key_of(n) for n in range(first, first + arguments.keys)]
                load(side / "db", lines)
                (side / "keys").write_bytes(b"".join(sorted(lines)))
            for way, run in WAYS.items():
                carried = {}
                with link(0, rate, {}):
                    without = run(*sides)
                with link(delay, rate, carried):
                    seconds = run(*sides)
                row = {"overlap_percent": overlap, "way": way, "seconds": seconds,
                       "transfer_seconds": carried["bytes"] / rate, "bytes": carried["bytes"],
                       "delays": (seconds - without) / delay}
                rows.append(row)
                print(f"{overlap:7g}%  {way:17}  {seconds:7.2f}  {row['transfer_seconds']:16.2f}  "
                      f"{row['bytes'] / 1e6:6.2f}  {row['delays']:6.1f}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
