"""Where work runs. Everything that names a thread, a process or a cluster is in this room."""

from truerank.execution.executor import Executor, Serial, Threads, closed_after
from truerank.execution.processes import Processes, WorkerLostError
from truerank.execution.progress import Progress
from truerank.numerics.threads import available_cores

ENGINES: dict[str, type[Executor]] = {
    "serial": Serial,
    "threads": Threads,
    "processes": Processes,
}
"""Every engine by its name; the contract suite takes its members from here."""

__all__ = [
    "ENGINES",
    "Executor",
    "Processes",
    "Progress",
    "Serial",
    "Threads",
    "WorkerLostError",
    "available_cores",
    "closed_after",
]
