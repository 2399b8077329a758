# SPDX-License-Identifier: Apache-2.0
"""Connections to a server on this machine that pass through the test."""

import socket
import threading


class Relay:
    """Takes connections on `port` and makes one to the server for each. Who derives from it says what
    happens to the bytes, in `pass_on`."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.refusing = False  # no new connections
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def pass_on(self, number, source, sink, from_client):
        """All of one direction of a connection, numbered from 0; until it ends, or an OSError."""
        raise NotImplementedError

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.refusing:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                client.close()  # as if nobody were there
                continue
            server.settimeout(None)
            number = self.connections
            self.connections += 1
            for source, sink, from_client in (client, server, True), (server, client, False):
                threading.Thread(target=self._direction, args=(number, source, sink, from_client),
                                 daemon=True).start()

    def _direction(self, number, source, sink, from_client):
        try:
            self.pass_on(number, source, sink, from_client)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()  # the other thread closes the other one

    def close(self):
        self.listener.close()
