# SPDX-License-Identifier: Apache-2.0
"""One request of a relay on this machine, and ports for it."""

import http.client
import json
import socket

PROGRAM = "/v1/channels/relay/program"
PREVIEW = "/v1/channels/relay/preview"


def free_port():
    """A port of TCP."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def free_ports(count):
    """Ports of UDP."""
    links = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for link in links:
        link.bind(("127.0.0.1", 0))
    ports = [link.getsockname()[1] for link in links]
    for link in links:
        link.close()
    return ports


class Refused(SystemExit):
    """What relay answers with no."""


def ask(port, method, path, body=None):
    """The text of relay's answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read().decode()
    finally:
        connection.close()
    if answer.status >= 300:
        raise Refused(f"FAILED  {method} {path} {body}: {answer.status} {data}")
    return data
