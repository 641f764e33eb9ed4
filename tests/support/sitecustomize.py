"""Imports of PySpark's workers, done once in each daemon that forks them; Python imports this module when it starts.

A worker is forked for each task, and for each plan of a Python data source. It would import pandas and pyarrow by
itself, which takes a second.
"""

import sys

if "pyspark.daemon" in sys.orig_argv:
    import pandas  # noqa: F401 - as all below
    import pyarrow.compute
    import pyarrow.dataset  # noqa: F401
    import pyspark.worker  # noqa: F401

    import streamnative_serdes.spark.datasource  # noqa: F401
