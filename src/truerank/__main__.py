"""``python -m truerank`` is the same as ``truerank``."""

from truerank.cli import main

if __name__ == "__main__":
    main()
