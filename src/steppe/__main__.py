"""`python -m steppe`: the same as the command `steppe`."""

from steppe.cli import main

if __name__ == "__main__":
    main()
