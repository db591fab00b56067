"""The command line: one file per verb. Results on stdout, remarks on stderr."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130."""
    from truerank.cli.app import app
    from truerank.errors import TruerankError

    try:
        app()
    except TruerankError as error:
        sys.stderr.write(f"truerank: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("truerank: interrupted; nothing half-written was left\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
