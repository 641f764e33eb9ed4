"""The one logger of this package; programs configure it by its name, ``streamnative_serdes``."""

import logging

logger = logging.getLogger("streamnative_serdes")
