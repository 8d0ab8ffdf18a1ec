"""``python -m rpcag`` is the command ``rpcag``."""

from rpcag.cli import main

if __name__ == "__main__":
    main()
