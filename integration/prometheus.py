# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus, its promtool, and what endpoints of metrics answer."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

from environment import ROOT, THOROUGH, run, wait_for

PROMTOOL = shutil.which("promtool")
PROMETHEUS = shutil.which("prometheus")
RULES = ROOT / "tools" / "share" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "tools" / "share" / "grafana" / "dashboard.json"


def free_port():
    """One that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def scrape(port):
    return get(f"http://127.0.0.1:{port}/metrics")


def scrape_by_many(port, times, clients=8):
    """What clients at the same time are answered, each so many times: (seconds, text)."""
    def client(_):
        answers = []
        for _ in range(times):
            began = time.monotonic()
            text = scrape(port)
            answers.append((time.monotonic() - began, text))
        return answers

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return [answer for answers in pool.map(client, range(clients)) for answer in answers]


def resident_bytes(pid):
    """The memory that the process has just now."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def lint(text):
    """What `promtool check metrics` has to say against it. Where nothing thorough is asked for, promtool
    need not be there."""
    if PROMTOOL is None and not THOROUGH:
        return ""
    checked = run(PROMTOOL, "check", "metrics", stdin=text)
    return checked.out + checked.err + ("" if checked.code == 0 else f"exit code {checked.code}")


def types_of(text):
    """{"rocksieve_policy_info": "gauge", ...}: of ours, not those of prometheus-cpp about itself."""
    return {name: kind for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
            if name.startswith("rocksieve_")}


def samples_of(text, name):
    """[({label: value}, number), ...] of one metric."""
    lines = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE)
    return [({label: re.sub(r"\\(.)", lambda c: {"n": "\n"}.get(c[1], c[1]), value)
              for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)}, float(number))
            for labels, number in lines]


def value_of(text, name, **labels):
    """Of the one sample that has these labels, among others."""
    found = [value for its, value in samples_of(text, name) if labels.items() <= its.items()]
    assert len(found) == 1, (name, labels, found)
    return found[0]


class Prometheus:
    """Scrapes the ports and evaluates the rules every second."""

    def __init__(self, directory, ports, rules):
        self.port = free_port()
        config = directory / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "rocksieve", "static_configs": [
                {"targets": [f"127.0.0.1:{port}" for port in ports]}]}]}))
        self._log = open(directory / "prometheus.log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self._log, stderr=self._log, start_new_session=True)

    def stop(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _api(self, what):
        return json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/{what}"))["data"]

    def query(self, expression):
        """[({label: value}, number), ...]"""
        result = self._api("query?" + urllib.parse.urlencode({"query": expression}))["result"]
        return [(one["metric"], float(one["value"][1])) for one in result]

    def targets(self):
        return self._api("targets")["activeTargets"]

    def alerts(self):
        """{name: labels} of those that fire."""
        return {alert["labels"]["alertname"]: alert["labels"] for alert in self._api("alerts")["alerts"]
                if alert["state"] == "firing"}
