# SPDX-License-Identifier: Apache-2.0
"""A proxy that reads along: it knows at which step of the join protocol two processes are, and can do
something to them just then. It takes HTTP/2 without TLS, as docs/transport.md and docs/protocol.md
describe what is in it."""

import threading

from relay import Relay

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MESSAGES = {1: "hello", 2: "hello answer", 3: "open", 4: "facts", 5: "step", 6: "fetch", 7: "rows",
            8: "goodbye", 9: "failure", 10: "filters"}
PARTS = {1: "filter", 2: "list", 3: "keys", 4: "symbols", 5: "sketch", 16: "match bitmap", 17: "sum",
         18: "difference", 19: "more symbols", 20: "empty-cell bitmap", 21: "more parity", 22: "parity",
         23: "deferred keys"}


def varint(data, at):
    """The number and what follows it; None if it is cut off."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return None


class Direction:
    """The bytes of one direction of a connection: HTTP/2 frames, in them gRPC messages, in them the
    frames of the transport, in them the messages of the join protocol."""

    def __init__(self, from_client):
        self.raw, self.grpc, self.pieces = bytearray(), bytearray(), bytearray()
        self.preface = from_client
        self.from_client = from_client

    def frames(self, data):
        """Yields whole HTTP/2 frames, each with the names of the steps that it completes."""
        self.raw += data
        if self.preface and len(self.raw) >= len(PREFACE):
            assert self.raw.startswith(PREFACE), bytes(self.raw[:40])
            del self.raw[:len(PREFACE)]
            self.preface = False
            yield PREFACE, []
        while not self.preface and len(self.raw) >= 9:
            size = 9 + int.from_bytes(self.raw[:3], "big")
            if len(self.raw) < size:
                return
            frame = bytes(self.raw[:size])
            del self.raw[:size]
            is_data, is_headers, ends = frame[3] == 0, frame[3] == 1, frame[4] & 1
            if is_data:
                self.grpc += frame[9:]
            steps = list(self._steps())
            if is_headers and ends and not self.from_client:
                steps.append("end")
            yield frame, steps

    def _steps(self):
        while len(self.grpc) >= 5:
            size = 5 + int.from_bytes(self.grpc[1:5], "big")
            if len(self.grpc) < size:
                return
            message = bytes(self.grpc[5:size])
            del self.grpc[:size]
            field = message[0] >> 3 if message else 0
            if field == 1:
                yield "start"
            elif field == 2:
                yield "started"
            elif field == 3:
                length, begin = varint(message, 1)
                self.pieces += message[begin:begin + length]
                yield from self._messages()

    def _messages(self):
        while True:
            head = varint(self.pieces, 0)
            if head is None or len(self.pieces) < head[0] + head[1]:
                return
            length, begin = head
            message = bytes(self.pieces[begin:begin + length])
            del self.pieces[:begin + length]
            name = MESSAGES.get(message[0], "unknown")
            if name == "step":
                yield from (f"step: {part}" for part in self._parts(message[1:-4]))
            else:
                yield name

    @staticmethod
    def _parts(step):
        _, at = varint(step, 0)
        while at < len(step):
            part = step[at]
            length, begin = varint(step, at + 1)
            at = begin + length
            yield PARTS.get(part, "unknown")


class StepProxy(Relay):
    """Calls `on_step(connection number, name)` before the frame that completes the step is passed on.
    What that returns is done with the frame: None passes it on, "cut" ends the connection, "corrupt"
    changes its last byte; it may take its time."""

    def __init__(self, target_port, on_step=lambda connection, name: None):
        self.on_step = on_step
        self.steps = []  # all that were seen
        self.lock = threading.Lock()
        super().__init__(target_port)

    def pass_on(self, number, source, sink, from_client):
        direction = Direction(from_client)
        while data := source.recv(65536):
            for frame, steps in direction.frames(data):
                todo = None
                for step in steps:
                    with self.lock:
                        self.steps.append(step)
                    todo = todo or self.on_step(number, step)
                if todo == "cut":
                    return
                if todo == "corrupt":
                    frame = frame[:-1] + bytes([frame[-1] ^ 0x10])
                sink.sendall(frame)
