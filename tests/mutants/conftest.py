"""Import path: the modules of this folder import each other by bare name, as when run as a program."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Limits of processes are only available on Linux.
collect_ignore = [] if sys.platform == "linux" else ["test_mutants.py"]
