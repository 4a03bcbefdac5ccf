"""A stand-in for OpenSSH's client, behind which an agent of this machine gives false answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from schedlab.workloads.tools import SCHEDLOAD, find

_PROGRAM = """#!{python}
import json, os, re, subprocess, sys
script = sys.argv[-1]
if " agent --folder " not in script:
    os.execvp("sh", ["sh", "-c", script])
patterns = ("([0-9a-f]{{16}}) folder", "= ([0-9]+) ", '--root "(.*?)"')
nonce, size, root = (re.search(each, script)[1] for each in patterns)
os.makedirs(folder := os.path.join({folder!r}, "schedlab-" + nonce))
system = " ".join((os.uname().sysname, os.uname().machine))
for line in ("folder " + system + " " + folder, "copied", "size " + size):
    print(nonce, line, flush=True)
# Another machine has other locks.
inside = ["unshare", "--mount", "--net", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]
agent = subprocess.Popen(
    [*(inside if os.geteuid() == 0 else ()), {program!r}, "agent", "--folder", folder, "--root", root],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {{"SCHEDLAB_STATE": {folder!r}}},
)
lies = json.loads({lies!r})
for request in sys.stdin.buffer:
    agent.stdin.write(request)
    agent.stdin.flush()
    op = json.loads(request)["op"]
    if op == "beat":
        continue
    line = agent.stdout.readline()
    if op in lies:
        reply = json.loads(line)
        ok, line = reply.get("ok"), None
        exec(lies[op])
        line = line or json.dumps(reply).encode() + b"\\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
agent.stdin.close()
agent.wait()
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, **lies: str) -> None:
    """Install the stand-in in ``folder``, first in PATH.

    Each of ``lies`` is Python code for a kind of request: it changes ``reply`` or its content ``ok``, or sets ``line``,
    the bytes to send.
    """
    program = find(SCHEDLOAD)
    if program is None:
        pytest.skip("schedload is not built: make build")
    folder.mkdir()
    text = _PROGRAM.format(python=sys.executable, folder=str(folder), program=str(program), lies=json.dumps(lies))
    (folder / "ssh").write_text(text)
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
