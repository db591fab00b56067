"""Arrays as they come out of a file: checked before anything compiled sees them.

A compiled kernel believes an index. So whatever a file says is held against what must be true of
it here, at the door: the size of every array, its type, the row pointers and indices of a sparse
one, and a digest of its content where the file has one. What is wrong is a ValueError, which the
reader of the file turns into one sentence.
"""

from __future__ import annotations

import ast
import hashlib
import math
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, TypeError, ValueError,
          SyntaxError, AttributeError, RuntimeError, OverflowError, OSError)  # fmt: skip
"""What reading a damaged zip, a damaged header or a damaged array may raise."""

SPARSE_PARTS = ("data", "indices", "indptr")


def stored_member(
    archive: zipfile.ZipFile, name: str, *, most: float = math.inf
) -> zipfile.ZipInfo:
    """A member of a zip whose size can be believed before anything of it is read.

    Args:
        archive: The zip.
        name: Of the member.
        most: Bytes that it may have.

    Raises:
        ValueError: If it is packed, so that its length would be anybody's guess, if it is longer
            than the file that it is in, or longer than ``most``.
    """
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise ValueError("a member that is packed")
    if member.header_offset + member.file_size > archive.start_dir or member.file_size > most:
        raise ValueError("a member that is longer than it can be")
    return member


def read_array(archive: zipfile.ZipFile, name: str, *, most: float = math.inf) -> NDArray[Any]:
    """The array ``<name>.npy`` of a zip, without pickle, in C order; ``most`` bytes at most."""
    member = stored_member(archive, f"{name}.npy", most=most)
    with archive.open(member) as file:
        # A damaged shape must not ask for memory: the size of the member is known.
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("an array of another format")
        # Read strictly, since numpy would try to mend what is damaged, with a warning.
        length = int.from_bytes(file.read(2), "little")
        described = _literal(file.read(length).decode("latin1"))
        shape, dtype = described["shape"], np.dtype(described["descr"])
        if dtype.kind not in "iufU" or not isinstance(described["fortran_order"], bool):
            raise ValueError("an array of neither numbers nor strings")
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("a shape that is none")
        if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError("an array that is longer or shorter than it says")
        file.seek(0)
        array = np.lib.format.read_array(file, allow_pickle=False)
    return np.ascontiguousarray(array) if array.ndim else array


def _literal(text: str) -> Any:
    """A literal of Python; one nested too deeply is a MemoryError of its parser."""
    try:
        return ast.literal_eval(text)
    except (RecursionError, MemoryError) as error:
        raise ValueError("a description that is nested too deeply") from error


def digest(array: NDArray[Any]) -> str:
    """SHA-256 of type, shape and content, in hex.

    >>> digest(np.zeros(2)) == digest(np.zeros(2)), digest(np.zeros(2)) == digest(np.zeros((2, 1)))
    (True, False)
    """
    known = hashlib.sha256(f"{array.dtype.str} {array.shape}\n".encode())
    if array.size:
        known.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return known.hexdigest()


def digests(arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """One digest for each array."""
    return {name: digest(array) for name, array in arrays.items()}


def check_digests(arrays: Mapping[str, NDArray[Any]], said: dict[str, str] | None) -> None:
    """The arrays are those that were written; files of earlier versions do not say."""
    if said is not None and digests(arrays) != said:
        raise ValueError("arrays that are not those that were written")


def check_array(
    array: NDArray[Any], *, shape: tuple[int, ...], kind: str, finite: bool = True
) -> None:
    """An array of this shape and kind (``"f"``: float32 or float64, ``"i"``: int32 or int64)."""
    if array.shape != shape:
        raise ValueError(f"an array of shape {array.shape} in the place of {shape}")
    if array.dtype.kind != kind or array.itemsize not in (4, 8) or not array.dtype.isnative:
        raise ValueError(f"an array of {array.dtype}")
    if finite and kind == "f" and not np.isfinite(array).all():
        raise ValueError("numbers that are not finite")


def checked_csr(parts: Mapping[str, NDArray[Any]], shape: tuple[int, int]) -> sparse.csr_array:
    """Compressed rows from their three arrays; within a row, columns ascend."""
    data, indices, indptr = (parts[part] for part in SPARSE_PARTS)
    n_rows, n_columns = shape
    check_array(indptr, shape=(n_rows + 1,), kind="i")
    check_array(indices, shape=(len(data),), kind="i")
    check_array(data, shape=(len(data),), kind="f")
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("rows that do not begin and end where they should")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_columns):
        raise ValueError("columns that do not exist")
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    if not np.isin(falls, indptr).all():
        raise ValueError("columns that do not ascend")
    return sparse.csr_array((data, indices, indptr), shape=shape)
