"""The command line: one file per verb. Results on stdout, remarks on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130."""
    import warnings

    import typer

    from truerank.cli.app import app
    from truerank.cli.mistakes import UsageError, usage_sentence
    from truerank.cli.output import remark
    from truerank.errors import DataWarning, TruerankError, for_cli

    # What was read is remarked upon where it is read, and results carry their own notes.
    warnings.simplefilter("ignore", DataWarning)
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(app)
    try:
        code = command.main(given or ["--help"], prog_name="truerank", standalone_mode=False)
    except TruerankError as error:
        remark("truerank: " + " ".join(for_cli(error.message).split()))
        sys.exit(2)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help itself
            sys.exit(0)
        remark(f"truerank: {usage_sentence(error)}")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not _was_interrupted(error):
            raise
        code = 130
    if code == 130:
        remark("truerank: interrupted; nothing half-written was left")
    sys.exit(code if isinstance(code, int) else 0)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C led to this error: numba, stopped while it compiles, raises its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
