# SPDX-License-Identifier: Apache-2.0
"""Names existing things in most of the requests that schemathesis makes: random names exist nowhere, and nearly every
answer would be 404. Loaded by schemathesis, see `api` beside this file."""

import datetime
import json
import os
import random
import time
import urllib.parse
import urllib.request

import schemathesis

URL = os.environ["RELAY_URL"]
TOKEN = os.environ["RELAY_TOKEN"]
BEGAN = time.time()
# Seconds for which a list of ids is used before it is read again.
LIFETIME = 3
# The parts of paths that only a program of several sources has.
STUDIO = ("/program", "/preview", "/take", "/auto", "/overlays", "/rundown", "/sources")
NAMES = {"output": ["main"], "source": ["one", "two"], "overlay": ["title"], "frame": [1, 1 << 40]}

pick = random.Random(int(os.environ["RELAY_SEED"]))
lists = {}


def listed(path, key):
    """The ids in the list at `path`, at most a few seconds old."""
    read, ids = lists.get(path, (0, []))
    if time.monotonic() - read < LIFETIME:
        return ids
    request = urllib.request.Request(URL + path, headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            ids = [item["id"] for item in json.load(answer).get(key, []) if "id" in item]
    except (OSError, ValueError):
        pass
    lists[path] = (time.monotonic(), ids)
    return ids


def known(name, channel):
    """Values of the path's parameter `name` that exist."""
    quoted = urllib.parse.quote(str(channel), safe="")
    if name == "recording":
        return listed(f"/v1/channels/{quoted}/recordings", "recordings")
    if name == "clip":
        return listed(f"/v1/channels/{quoted}/clips", "clips")
    if name == "export":
        return listed("/v1/exports", "exports")
    return NAMES.get(name, [])


def moment(seconds):
    """The time so many seconds after the beginning, as requests write it."""
    time_of_day = datetime.datetime.fromtimestamp(BEGAN + seconds, datetime.timezone.utc)
    return time_of_day.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Puts names that exist in place of most random ones."""
    parameters = case.path_parameters
    if parameters:
        if "channel" in parameters and pick.random() < 0.9:
            channel = "studio" if any(part in case.path for part in STUDIO) else "stage"
            parameters["channel"] = channel if pick.random() < 0.8 else pick.choice(["stage", "studio"])
        for name in parameters:
            values = known(name, parameters.get("channel", "")) if name != "channel" and pick.random() < 0.8 else []
            if values:
                parameters[name] = pick.choice(values)
    is_export = case.method.upper() == "POST" and case.path == "/v1/exports"
    if is_export and isinstance(case.body, dict) and pick.random() < 0.5:
        case.body.update(channel="stage")
        if pick.random() < 0.5:
            case.body.update({"from": moment(1), "to": moment(2)})
