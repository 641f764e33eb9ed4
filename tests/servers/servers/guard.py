"""Server guard: when a test run dies, its pipe closes; then this process kills the servers and removes their data.

It reads lines: +PID (a server has started), -PID (it has ended), /FOLDER (to be removed at the end, if it exists).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys


def main() -> None:
    pids: set[int] = set()
    folders: list[str] = []
    for line in map(str.strip, sys.stdin):
        if line[0] == "/":
            folders.append(line)
        else:
            (pids.add if line[0] == "+" else pids.discard)(int(line[1:]))
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it has already ended
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
