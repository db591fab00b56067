"""Every compiled function of the source, found by reading it: also those that nobody calls.

A *kernel* is a function that numba compiles: decorated with ``njit`` or one of our wrappers of it
(:mod:`truerank.numerics.jit`), or a variant that an ``@overload`` chooses between.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

COMPILERS = frozenset({"njit", "jit", "strict", "fastmath", "vectorize", "guvectorize", "cfunc"})
"""What compiles a function. ``strict`` and ``fastmath`` are ours."""

Kernel = tuple[str, str]
"""Module, and name in it; ``chooser.variant`` for what an overload chooses."""


def _called(node: ast.expr) -> str:
    """The last name of ``njit``, ``numba.njit``, ``njit(...)`` or ``njit(...)(...)``."""
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def made_by(makers: frozenset[str], tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """Functions that one of the makers decorates or is called with, by name."""
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    found = {
        name: function
        for name, function in functions.items()
        if makers & {_called(decorator) for decorator in function.decorator_list}
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in makers:
            names = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
            found |= {name: functions[name] for name in names if name in functions}
    return found


def kernels_in(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """The kernels of one module: their names, and where they are defined.

    >>> list(kernels_in(ast.parse("@njit(cache=True)\\ndef f(x): return x")))
    ['f']
    """
    found = made_by(COMPILERS, tree)
    for name, chooser in made_by(frozenset({"overload"}), tree).items():
        variants = [node for node in chooser.body if isinstance(node, ast.FunctionDef)]
        found |= {f"{name}.{variant.name}": variant for variant in variants}
    return found


def intrinsics_in(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """Functions of one module that write machine code, whose addresses numba cannot check."""
    return made_by(frozenset({"intrinsic"}), tree)


def in_truerank(find: Callable[[ast.AST], dict[str, Any]]) -> list[Kernel]:
    """What is found in any module of truerank."""
    import truerank

    root = Path(truerank.__file__).parent
    found: list[Kernel] = []
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("truerank", *path.relative_to(root).with_suffix("").parts))
        found += [(module, name) for name in find(ast.parse(path.read_text(encoding="utf-8")))]
    return found


def options_of(kernel: Kernel) -> dict[str, Any]:
    """How a kernel is compiled; nothing is known of what an overload chooses."""
    module, name = kernel
    options: dict[str, Any] = getattr(
        getattr(import_module(module), name, None), "targetoptions", {}
    )
    return options
