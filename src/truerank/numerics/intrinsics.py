"""Machine code that numba does not write by itself: the one module that knows numba's internals.

Who uses it has a plain way for the day when numba changes: see :mod:`.simd_counting` and
:mod:`.prefetch`.
"""

# ruff: noqa: ARG001  # an intrinsic is typed by its arguments, not run with them
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np import arrayobj


def _features() -> Mapping[str, bool]:
    """What the processor can that numba compiles for: this machine's, or the one it was told."""
    if any(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES")):
        return _features_in_use()
    try:
        found: Mapping[str, bool] = binding.get_host_cpu_features()
    except RuntimeError:  # not known to LLVM
        return {}
    return found


def _features_in_use() -> Mapping[str, bool]:
    """The same of a configured processor, read from code that numba's compiler writes for it.

    A name stands for many features, and LLVM does not say for which.
    """
    wide, whole = ir.VectorType(_number, 16), ir.VectorType(ir.IntType(32), 8)
    module = ir.Module()
    module.triple = binding.get_default_triple()
    fused = ir.Function(module, ir.FunctionType(wide, [wide] * 3), "llvm.fma.v16f32")
    for name, kind, n in (("products", wide, 3), ("sums", whole, 2)):
        function = ir.Function(module, ir.FunctionType(kind, [kind] * n), name)
        builder = ir.IRBuilder(function.append_basic_block())
        a = function.args
        builder.ret(builder.call(fused, list(a)) if n == 3 else builder.add(*a))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    codegen = cpu_target.target_context.codegen()
    try:
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=codegen.magic_tuple()[1], features=codegen.magic_tuple()[2], opt=2
        )
        code = machine.emit_assembly(binding.parse_assembly(str(module)))
    except RuntimeError:  # a processor that LLVM does not know
        return {}
    products, sums = code.split("sums:")[0], code.split("sums:")[-1]
    return {
        "avx512f": "zmm" in products,
        "avx2": "ymm" in sums,
        "fma": "vfmadd" in products,
        "neon": "fmla" in products,
    }


_number, _place = ir.FloatType(), ir.IntType(64)
_FEATURES = _features()
_FUSED = bool(_FEATURES.get("fma") or _FEATURES.get("neon"))  # a product and a sum in one step

LANES = 16 if _FEATURES.get("avx512f") else 8 if _FEATURES.get("avx2") else 4
"""Numbers in a vector register of this machine; no result depends on it."""

STEP = 12 if _FEATURES.get("avx512f") else 6
"""Items scored together: two vectors for each leave just enough of the registers free."""

PANEL = 2 * LANES
"""Users scored together."""

HIGH, LOW = 0, 1
"""Places in the second axis of counts and of bounds."""

_vector, _counts = ir.VectorType(_number, LANES), ir.VectorType(ir.IntType(32), LANES)


def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask for the line of the cache that holds element ``place`` of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])  # type: ignore[no-untyped-call]
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
            "llvm.prefetch.p0",
        )
        # For reading, to stay in all caches, as data.
        how = [ir.Constant(number, value) for value in (0, 3, 1)]
        where = builder.gep(found.data, [arguments[1]])
        builder.call(hint, [builder.bitcast(where, byte), *how])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


emit_prefetch: Callable[..., None] = intrinsic(_prefetch)
"""Called without the context, which is numba's."""


def _count_scores(
    typing_context: Any,
    items: Any,
    first: Any,
    last: Any,
    panels: Any,
    panel: Any,
    bounds: Any,
    counts: Any,
    place: Any,
) -> Any:
    """Count the scores of items ``first`` to ``last - 1`` with the users of a panel.

    Args:
        typing_context: numba's.
        items: One row per item.
        first: The first of them.
        last: After the last of them; a multiple of :data:`STEP` away.
        panels: From :func:`.simd_counting.panels_of`.
        panel: Which one.
        bounds: Panels x 2 x PANEL.
        counts: Places x 2 x PANEL, int32: grow by one for each score above ``HIGH``, and for each
            that reached ``LOW``.
        place: Of the panel's counts.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def array(position: int) -> Any:
            kind = arrayobj.make_array(signature.args[position])  # type: ignore[no-untyped-call]
            return kind(context, builder, arguments[position])

        def part(position: int, which: Any, size: Any) -> Any:
            return builder.gep(array(position).data, [builder.mul(which, size)])

        _, start, stop, _, panel, _, _, place = arguments
        depth = cgutils.unpack_tuple(builder, array(0).shape, 2)[1]  # type: ignore[no-untyped-call]
        users = part(3, panel, builder.mul(depth, _place(PANEL)))
        bounds, counts = part(5, panel, _place(2 * PANEL)), part(6, place, _place(2 * PANEL))
        with cgutils.for_range_slice(builder, start, stop, _place(STEP)) as (item, _):
            _count(builder, _scores(builder, part(0, item, depth), users, depth), bounds, counts)
        return context.get_dummy_value()

    number = types.intp
    return types.void(items, number, number, panels, number, bounds, counts, number), generate


emit_counting: Callable[..., None] = intrinsic(_count_scores)
"""Called without the context, which is numba's."""


def _scores(builder: Any, row: Any, column: Any, depth: Any) -> list[list[Any]]:
    """Scores of STEP items in two vectors each: a loop over the columns of the factors."""
    before, loop = builder.block, builder.append_basic_block("columns")
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(_place)
    k.add_incoming(_place(0), before)
    sums = [[builder.phi(_vector) for _ in range(2)] for _ in range(STEP)]
    place = builder.mul(k, _place(PANEL))
    users = [
        _load(builder, column, builder.add(place, _place(v * LANES)), _vector) for v in range(2)
    ]
    grown = []
    for i in range(STEP):
        place = builder.add(builder.mul(depth, _place(i)), k)
        item = _spread(builder, builder.load(builder.gep(row, [place])))
        grown.append([_product_and_sum(builder, item, users[v], sums[i][v]) for v in range(2)])
    following = builder.add(k, _place(1))
    k.add_incoming(following, loop)
    for i in range(STEP):
        for v in range(2):
            sums[i][v].add_incoming(ir.Constant(_vector, [0.0] * LANES), before)
            sums[i][v].add_incoming(grown[i][v], loop)
    after = builder.append_basic_block("after.columns")
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    builder.position_at_end(after)
    return grown


def _count(builder: Any, scores: list[list[Any]], bounds: Any, counts: Any) -> None:
    """Compare with the bounds; a comparison that holds is -1 in its lane."""
    for which, sign in ((HIGH, ">"), (LOW, ">=")):
        for v in range(2):
            place = _place(which * PANEL + v * LANES)
            bound = _load(builder, bounds, place, _vector)
            count = _load(builder, counts, place, _counts)
            for item in scores:
                holds = builder.fcmp_ordered(sign, item[v], bound)
                count = builder.sub(count, builder.sext(holds, _counts))
            _store(builder, counts, place, count)


def _product_and_sum(builder: Any, a: Any, b: Any, c: Any) -> Any:
    if not _FUSED:
        return builder.fadd(builder.fmul(a, b), c)
    fused = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, ir.FunctionType(_vector, [_vector] * 3), f"llvm.fma.v{LANES}f32"
    )
    return builder.call(fused, [a, b, c])


def _spread(builder: Any, value: Any) -> Any:
    """The same number in all lanes."""
    nothing = ir.Constant(_vector, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_counts, [0] * LANES))


def _load(builder: Any, pointer: Any, place: Any, kind: Any) -> Any:
    where = builder.bitcast(builder.gep(pointer, [place]), kind.as_pointer())
    return builder.load(where, align=4)


def _store(builder: Any, pointer: Any, place: Any, value: Any) -> None:
    where = builder.bitcast(builder.gep(pointer, [place]), value.type.as_pointer())
    builder.store(value, where, align=4)
