"""The modules of this folder import each other by their bare names, as the program does that they make up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# The limits of processes are Linux's.
collect_ignore = [] if sys.platform == "linux" else ["test_mutants.py"]
