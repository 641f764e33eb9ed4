"""Child processes: runs code with little memory, so that a crash fails one test visibly."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from textwrap import dedent

MEMORY = 1 << 30  # bytes of address space
# The allocator of a free-threaded Python reserves address space beforehand, and uses it as it is needed.
_RESERVED = 1 << 30 if sysconfig.get_config_var("Py_GIL_DISABLED") else 0
_SPACE = MEMORY + _RESERVED
# AddressSanitizer needs terabytes of address space, so it has its own limits; and its stack frames are far larger.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
_ASAN_LIMITS = f"hard_rss_limit_mb={MEMORY >> 19}:max_allocation_size_mb={MEMORY >> 20}:allocator_may_return_null=1"

_PREAMBLE = f"""\
import sys
try:
    import resource
    {"" if SANITIZED else f"resource.setrlimit(resource.RLIMIT_AS, ({_SPACE}, {_SPACE}))"}
except (ImportError, ValueError):
    pass  # Windows has no such limit; macOS knows it and does not hold it
sys.path[:0] = {{path!r}}
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes._schema import parse
from wire import sized, varint

def peak():
    # MiB that this process has used at most. ru_maxrss begins with what its parent used.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM"))

def outcome(work, *args):
    try:
        return "value", work(*args)
    except (DecodeError, EncodeError, SchemaError) as error:
        return type(error).__name__, str(error)
"""


def run_limited(code: str, *, seconds: float = 60.0) -> str:
    """Return the output of ``code``. Fails if it raises, crashes, or runs for longer than ``seconds``."""
    program = _PREAMBLE.format(path=[p for p in sys.path if p]) + dedent(code)
    command = [sys.executable, "-X", "faulthandler", "-c", program]
    environment = dict(os.environ)
    if SANITIZED:
        seconds *= 4
        environment["ASAN_OPTIONS"] = f"{environment.get('ASAN_OPTIONS', '')}:{_ASAN_LIMITS}"
    done = subprocess.run(command, capture_output=True, timeout=seconds, env=environment)
    # Without memory, AddressSanitizer prints a line in addition to the expected MemoryError.
    lines = done.stderr.decode(errors="replace").splitlines(keepends=True)
    text = "".join(line for line in lines if "AddressSanitizer failed to allocate" not in line)
    said = done.stdout[-300:].decode(errors="replace")
    assert done.returncode == 0, f"the process ended with {done.returncode} after {said!r}:\n{text[-3000:]}"
    assert not text, text[-3000:]
    return done.stdout.decode()
