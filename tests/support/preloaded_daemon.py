"""PySpark's daemon, with the imports of its workers done before it forks them.

It forks one for each task and for each plan of a Python data source; each would import pandas and pyarrow by itself.
"""

import pandas  # noqa: F401 - as all below
import pyarrow.compute
import pyarrow.dataset  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import streamnative_serdes.spark.datasource  # noqa: F401

if __name__ == "__main__":
    manager()
