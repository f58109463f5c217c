# SPDX-License-Identifier: Apache-2.0
"""nginx with its RTMP module, recording what it gets: a healthy target that is not of our making."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import frames
from world import free_port, until

MODULES = [Path(home) / "ngx_rtmp_module.so"
           for home in ("/usr/lib/nginx/modules", "/usr/share/nginx/modules", "/usr/lib64/nginx/modules")]
CONFIGURATION = """load_module {module};
daemon off;
master_process off;
pid {home}/nginx.pid;
error_log {home}/nginx.log warn;
events {{}}
rtmp {{
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        application live {{
            live on;
            record all;
            record_path {home};
        }}
    }}
}}
"""


def find() -> tuple[str, Path] | None:
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    module = next((path for path in MODULES if path.exists()), None)
    return (program, module) if program and module else None


class NginxTarget:
    """One server, one publisher."""

    def __init__(self, work: Path) -> None:
        self.home, self.port = work / "nginx", free_port()
        self.process: subprocess.Popen | None = None
        self.frames: list[frames.Frame] = []
        self.audio: dict[int, list[float]] = {}

    def start(self) -> None:
        found = find()
        if not found:
            raise OSError("nginx has no RTMP module here")
        program, module = found
        self.home.mkdir()
        (self.home / "nginx.conf").write_text(
            CONFIGURATION.format(module=module, home=self.home, port=self.port))
        with (self.home / "out").open("wb") as out:
            self.process = subprocess.Popen(
                [program, "-p", f"{self.home}/", "-c", f"{self.home}/nginx.conf", "-g", f"lock_file {self.home}/lock;"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until(10, lambda: (self.home / "nginx.pid").exists(), "nginx listens")

    def finish(self) -> None:
        assert self.process
        self.process.terminate()
        self.process.wait(10)
        for number, path in enumerate(sorted(self.home.glob("*.flv"))):
            data = path.read_bytes()
            self.frames += frames.from_flv(data)
            self.audio[number] = frames.audio_of_flv(data)
