"""``python -m streamnative_serdes``: the command line."""

from streamnative_serdes.cli import main

if __name__ == "__main__":
    main()
