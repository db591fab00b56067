"""Which kernels have run: each begins, when it is imported, with a note that it did.

That a kernel was compiled does not show that it ran: what a kernel might call is compiled with it.
So while truerank is imported, ``note(number)`` is put before the first line of every kernel; it
sets a flag of this process. Compiled code then knows an address and is never cached.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic, overload

from .kernels import Kernel, kernels_in

_numbers: dict[Kernel, int] = {}
_flags = np.zeros(10_000, np.uint8)


@intrinsic
def _set_flag(typing: Any, number: Any) -> Any:
    """Set the flag of one kernel."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = ir.Constant(ir.IntType(64), _flags.ctypes.data)
        flag = builder.inttoptr(builder.add(start, arguments[0]), ir.IntType(8).as_pointer())
        builder.store(ir.Constant(ir.IntType(8), 1), flag)
        return context.get_dummy_value()

    return types.void(types.int64), write


def note(number: int) -> None:
    """Nothing, where a kernel is run as plain Python: its indices are checked anyway."""


@overload(note)
def _note_compiled(number: Any) -> Any:
    def compiled(number: Any) -> None:
        _set_flag(number)

    return compiled


class _NotingLoader(SourceFileLoader):
    """Compiles a module of truerank from its source, with notes in its kernels."""

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path), self.path)
        kernels = kernels_in(tree)
        for name, function in kernels.items():
            number = _numbers.setdefault((fullname, name), len(_numbers))
            call = ast.parse(f"_note({number})").body[0]
            function.body.insert(1 if ast.get_docstring(function) else 0, call)
        if kernels:
            after = 1 + max(i for i, node in enumerate(tree.body) if _is_import(node))
            tree.body[after:after] = ast.parse(f"from {__name__} import note as _note").body
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


class _NotingFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "truerank":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _NotingLoader(fullname, spec.loader.path)
        return spec


def note_executions() -> None:
    """From now on, modules of truerank are imported with notes; none may be there already."""
    if "truerank" in sys.modules:
        raise RuntimeError("truerank is imported already: its kernels would not be noted")
    sys.meta_path.insert(0, _NotingFinder())
    Dispatcher.enable_caching = lambda self: None


def executed_kernels() -> set[Kernel]:
    """The kernels that have run in this process."""
    return {kernel for kernel, number in _numbers.items() if _flags[number]}
