"""How the kernels of this package are compiled.

Always into their callers: a call would be answered by whichever copy of a kernel the process has
loaded first, and one that was optimised by itself may sum in another order than one that was
optimised with its caller. The process that compiles would then differ by a bit from those that
find everything in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def strict(kernel: Kernel) -> Kernel:
    """Arithmetic in the order written.

    A product and a sum may be one operation. The option is given, if only to be so: a kernel
    without one takes that of the kernel which calls it first.
    """
    return cast(
        "Kernel", njit(nogil=True, cache=True, forceinline=True, fastmath={"contract"})(kernel)
    )


def fastmath(kernel: Kernel) -> Kernel:
    """Arithmetic that runs several numbers at once.

    Sums may be reordered (the same way each time), and a division by zero gives infinity instead
    of an exception, which would keep loops from being vectorised. NaN and infinity keep their
    meaning.
    """
    compiler = njit(
        nogil=True,
        cache=True,
        forceinline=True,
        fastmath={"reassoc", "contract", "arcp", "nsz"},
        error_model="numpy",
    )
    return cast("Kernel", compiler(kernel))
