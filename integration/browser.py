# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that shows a page and tells what is in it, by its DevTools protocol
(https://chromedevtools.github.io/devtools-protocol/) over a pipe: nothing listens, and no library is
needed."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import tempfile
import time

# The first is a Debian package of its own, a third as large as the other.
PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
SECONDS = 60  # for an answer


class Browser:
    """With a fresh profile. Use as a context."""

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="rocksieve-browser-")
        to_read, self._to = self._pipe()
        self._from, to_write = self._pipe()
        log = self._above(os.open(pathlib.Path(self._profile.name) / "log", os.O_CREAT | os.O_WRONLY, 0o600))
        # As root, and in containers, it has no sandbox and little shared memory.
        words = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                 "--no-first-run", "--remote-debugging-pipe",
                 f"--user-data-dir={self._profile.name}/profile", "about:blank"]
        self._process = os.posix_spawn(
            PROGRAM, words, dict(os.environ, HOME=self._profile.name), setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, to_write, 4),
                          (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
        for descriptor in (to_read, to_write, log):
            os.close(descriptor)
        self._number, self._buffer, self.events, self._session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        os.killpg(self._process, signal.SIGKILL)  # its own group: what it started goes with it
        os.waitpid(self._process, 0)
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        for _ in range(50):  # the last of its processes may write yet
            try:
                self._profile.cleanup()
                return
            except OSError:
                time.sleep(0.1)

    @staticmethod
    def _above(descriptor):
        """The same beyond the numbers that the browser is to have its descriptors by."""
        above = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(descriptor)
        return above

    def _pipe(self):
        return [self._above(end) for end in os.pipe()]

    def _receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            some = os.read(self._from, 1 << 20) if ready else b""
            if not some:
                log = (pathlib.Path(self._profile.name) / "log").read_text(errors="replace")
                raise AssertionError(f"{PROGRAM} says nothing: {log[-2000:]}")
            self._buffer += some
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        whole = json.dumps(message).encode() + b"\0"
        while whole:
            whole = whole[os.write(self._to, whole):]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def show(self, page, width=1200, height=900, dark=False):
        """Goes there, and waits until all of it is there. Forgets the events before."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def ask(self, expression):
        """What JavaScript makes of it in the page; a page's policy does not bind the debugger."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def console(self):
        """What the page's console has said since it was shown: errors, warnings, all of it."""
        said = []
        for event in self.events:
            if event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                       "Runtime.exceptionThrown"):
                said.append(event["params"])
        return said

    def requests(self):
        """The addresses that were asked for since the page was shown."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, path):
        """All of the page, as a PNG file. It is as high as the page afterwards: what is out of sight
        may not be drawn."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        width, height = int(size["width"]), int(size["height"])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        picture = self.call("Page.captureScreenshot", format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True,
                                          preferCSSPageSize=False)["data"])
