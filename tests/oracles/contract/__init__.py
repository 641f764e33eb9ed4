"""The contract of Pulsar's schema registry: scripts of requests that can be run against any server.

A case is a script on its own topic. It is played once on each server; the responses are compared with the script's
expectations, and the complete transcripts of two servers with each other.
"""

from .cases import GROUPS
from .play import Player, said_differently
from .said import Said, words
from .script import (
    Ask,
    Case,
    delete,
    get,
    lookup,
    make_tenant,
    post,
    put,
    register,
    send,
    would_take,
)
