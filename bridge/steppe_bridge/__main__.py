"""`python -m steppe_bridge`: the same as the command `steppe-bridge`."""

import sys

from steppe_bridge.cli import main

if __name__ == "__main__":
    sys.exit(main())
