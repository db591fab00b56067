"""Every compiled function of the source, found by reading it, and which of them have run.

A *kernel* is a function that numba compiles: decorated with ``njit`` or one of our wrappers of it
(:mod:`truerank.models.mf.compiled`), each variant that an ``@overload`` chooses between, and each
intrinsic. Reading the source finds those that nobody calls as well.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

COMPILERS = frozenset({"njit", "jit", "exact", "fast", "vectorize", "guvectorize", "cfunc"})
"""Decorators that compile. ``exact`` and ``fast`` are ours."""

Kernel = tuple[str, str]
"""Module, and name in it; ``chooser.variant`` for what an overload chooses."""


def _called(decorator: ast.expr) -> str:
    """The last name of ``njit``, ``numba.njit`` or ``njit(...)``."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def kernels_in(source: str, module: str) -> Iterator[Kernel]:
    """The kernels of one module.

    >>> list(kernels_in("@njit(cache=True)\\ndef f(x): return x", "m"))
    [('m', 'f')]
    """
    tree = ast.parse(source)
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for name, function in functions.items():
        used = {_called(decorator) for decorator in function.decorator_list}
        if used & COMPILERS or "intrinsic" in used:
            yield module, name
        if "overload" in used:
            for inner in function.body:
                if isinstance(inner, ast.FunctionDef):
                    yield module, f"{name}.{inner.name}"
    for node in ast.walk(tree):  # intrinsic(_count_scores), njit(...)(function)
        if isinstance(node, ast.Call) and _called(node) in COMPILERS | {"intrinsic"}:
            for argument in node.args:
                if isinstance(argument, ast.Name) and argument.id in functions:
                    yield module, argument.id


def all_kernels() -> list[Kernel]:
    """The kernels of truerank, by reading its source."""
    import truerank

    root = Path(truerank.__file__).parent
    found: list[Kernel] = []
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("truerank", *path.relative_to(root).with_suffix("").parts))
        found += kernels_in(path.read_text(encoding="utf-8"), module)
    return found


# ---------------------------------------------------------------- which of them have run

_generated: set[Kernel] = set()


def record_extensions() -> None:
    """From now on, note which overloads choose what and which intrinsics are generated.

    Both are plain Python functions that numba calls while it compiles. To be called before
    truerank is imported.
    """
    import numba.extending as extending

    intrinsic, overload = extending.intrinsic, extending.overload

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **more: Any) -> Any:
            result = function(*arguments, **more)
            chosen = f".{result.__name__}" if inspect.isfunction(result) else ""
            _generated.add((function.__module__, function.__name__ + chosen))
            return result

        return called

    def noted_intrinsic(*arguments: Any, **options: Any) -> Any:
        if arguments:
            return intrinsic(noting(arguments[0]))
        return lambda function: intrinsic(**options)(noting(function))

    def noted_overload(target: Any, *arguments: Any, **options: Any) -> Any:
        add = overload(target, *arguments, **options)
        return lambda function: add(noting(function))

    extending.intrinsic, extending.overload = noted_intrinsic, noted_overload


def dispatcher_of(kernel: Kernel) -> Any:
    """numba's object for a kernel; None for what only the compiler calls."""
    module, name = kernel
    found = getattr(import_module(module), name, None)
    return found if hasattr(found, "overloads") else None


def kernels_that_ran() -> set[Kernel]:
    """Compiled in this process, hence called: nothing here is compiled ahead.

    What a cache answers is not compiled, and neither are the kernels that it calls: true only
    where the cache was empty.
    """
    ran = {kernel for kernel in all_kernels() if getattr(dispatcher_of(kernel), "overloads", None)}
    return ran | _generated
