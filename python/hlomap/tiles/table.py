"""The costs of candidates of tile sizes, by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

from .._core import _tile_reasons
from ..analysis.table import SHOWN_ROWS, first_rows
from ..base.lazy import np, npt
from ..base.types import ReadOnlyDict, expect, read_only
from ..errors import NotFoundError
from ..interop.columns import Columnar

COLUMNS = (
    "legal", "reason", "grid", "steps", "tile_bytes", "tile_bytes_exact", "waste", "waste_exact", "read_bytes",
    "read_bytes_exact", "distinct_bytes", "distinct_bytes_exact", "reread", "run_bytes", "run_bytes_exact", "sectors",
    "sectors_exact", "efficiency", "write_bytes", "live_bytes", "smem_bytes", "dram_bytes_lower", "dram_bytes_upper",
    "waves", "tail", "occupancy",
)  # fmt: skip
COST_COLUMNS = ("flops", "transcendentals", "recomputed", "time_at_least")
_SHOWN_COLUMNS = ("legal", "reason", "grid", "steps", "read_bytes", "write_bytes", "live_bytes")


class Refusal(str, Enum):
    """Why a candidate of tile sizes is not legal.  Members are strings: ``refusal == "shared_memory"`` holds.

    >>> Refusal.SHARED_MEMORY.meaning, Refusal("gap") is Refusal.GAP
    ('the tiles do not fit in the shared memory of a block', True)
    """

    UNKNOWN_MAP = "unknown_map"
    NOT_A_BOX = "not_a_box"
    GAP = "gap"
    DEPENDENT_RESULTS = "dependent_results"
    RUNTIME_VARIES_IN_TILE = "runtime_varies_in_tile"
    OVERFLOW = "overflow"
    OUTPUTS_DISAGREE = "outputs_disagree"
    TILE_TOO_LARGE = "tile_too_large"
    GRID_TOO_LARGE = "grid_too_large"
    SHARED_MEMORY = "shared_memory"
    REGISTERS = "registers"
    NOT_POWER_OF_TWO = "not_power_of_two"
    NOT_MULTIPLE = "not_multiple"
    OVERSHOOT = "overshoot"

    @property
    def meaning(self) -> str:
        """The refusal in words."""
        return _MEANING[self]

    def __str__(self) -> str:
        return str(self.value)


_MEANING = {
    Refusal.UNKNOWN_MAP: "the elements that it reads are not known",
    Refusal.NOT_A_BOX: "a tile does not read a box",
    Refusal.GAP: "a tile reads with irregular gaps",
    Refusal.DEPENDENT_RESULTS: "two dimensions of a read change together",
    Refusal.RUNTIME_VARIES_IN_TILE: "a runtime value varies within a tile",
    Refusal.OVERFLOW: "a number does not fit into 64 bits",
    Refusal.OUTPUTS_DISAGREE: "the needed part of the output is not a tile of it",
    Refusal.TILE_TOO_LARGE: "a tile has more elements than the limits allow",
    Refusal.GRID_TOO_LARGE: "there are more tiles than can be launched",
    Refusal.SHARED_MEMORY: "the tiles do not fit in the shared memory of a block",
    Refusal.REGISTERS: "the tiles do not fit in the registers",
    Refusal.NOT_POWER_OF_TWO: "a size is neither a power of two nor the whole dimension",
    Refusal.NOT_MULTIPLE: "the size of a box is not a multiple that the limits require",
    Refusal.OVERSHOOT: "tiles reach too far beyond the end of a dimension",
}


class TileTable(Columnar):
    """The costs of candidates: ``table[name]`` is a read-only array with a row for each candidate.

    ``len`` is the number of rows, ``columns`` the names.  Bytes and counts are of valid elements, without masked ones.
    Columns of reads are ``[n, number of reads]``, the others ``[n]``.  A column ``NAME_exact`` is true for rows in
    which NAME is exact; in other rows it is an upper bound.  A count that does not fit into 64 bits is -1.

    * ``legal``: every read is a box and every rule of the limits holds; ``reason``: 0, or the number of the first
      reason why the candidate is not legal, with the text :meth:`reason`
    * ``grid``: the number of tiles of parallel parameters; ``steps``: the steps of the loops over sequential ones that
      a tile runs, multiplied where a loop runs inside another one, and added where one runs after the other
    * ``tile_bytes``: bytes that the largest tile reads, or of the box around them
    * ``waste``: elements of tight boxes of all tiles for each element that is read
    * ``read_bytes``: of all tiles, counted in each parallel tile and in each sequential step that affects the read
    * ``distinct_bytes``: of the union; ``reread``: ``read_bytes`` divided by ``distinct_bytes``
    * ``run_bytes``: the longest contiguous run in memory of any tile
    * ``sectors``: of the largest tile read run by run, averaged over the positions where its runs begin, rounded up;
      ``efficiency``: ``tile_bytes`` for each byte of these sectors.  Neither is a bound if ``sectors_exact`` is false
    * ``write_bytes``: of all outputs; ``live_bytes``: of the largest tiles of everything that is read and written
    * ``smem_bytes``: by the rule ``buffers`` of the limits, with sizes rounded up by the rule ``power_of_two``
    * ``dram_bytes_lower``: every element once; ``dram_bytes_upper``: every sector of every tile
    * ``occupancy``: the blocks that a multiprocessor of the device holds at once, limited by its shared memory and by
      its registers, which hold the rest; ``waves``: rounds of blocks, ``tail``: blocks of the last round; all 0 without
      a device
    * only if ``columns=`` names them: ``flops``, ``transcendentals`` of :func:`hlomap.cost`, equal for all candidates;
      ``recomputed``: the operations that all tiles evaluate for each one that is needed, NaN if not known exactly; and
      with a device ``time_at_least``, see :meth:`Tiling.time_at_least`

    >>> module = hm.parse("ENTRY e { p = f32[6,4] parameter(0)  ROOT t = f32[4,6] transpose(p), dimensions={1,0} }")
    >>> table = hm.tile(module.entry).evaluate([[4, 2], [1, 6]])
    >>> table["run_bytes"].tolist(), table["grid"].tolist()
    ([[32], [4]], [3, 4])
    """

    __slots__ = ("_columns", "_n", "_numbers", "_texts")
    _columns: dict[str, npt.NDArray[Any]]

    def __init__(
        self,
        columns: Mapping[str, npt.NDArray[Any]],
        n: int,
        texts: Mapping[int, str],
        numbers: npt.NDArray[Any] | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._n = n
        self._texts = texts
        self._numbers = numbers

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    @property
    def refused(self) -> Mapping[Refusal, int]:
        """Why candidates are not legal: each refusal with the number of candidates that it rejects, most frequent
        first.

        Raises :class:`~hlomap.errors.NotFoundError` for a table without the columns ``legal`` and ``reason``.
        """
        found: Counter[Refusal] = Counter()
        for number, n in zip(*np.unique(self._reason_numbers(), return_counts=True), strict=True):
            if number:
                found[self._code(int(number))] += int(n)
        return ReadOnlyDict(found.most_common())

    def refusal(self, row: int) -> Refusal | None:
        """The code of :meth:`reason`: why the candidate of a row is not legal; ``None`` if it is.

        Raises as :meth:`reason`.
        """
        number = self._number_of(row)
        return self._code(number) if number else None

    def _code(self, number: int) -> Refusal:
        return Refusal(self._texts[number].partition(":")[0])

    def _number_of(self, row: int) -> int:
        numbers = self._reason_numbers()
        if not -self._n <= row < self._n:
            raise NotFoundError(f"no row {row}, there are {self._n}")
        return int(numbers[row])

    def _reason_numbers(self) -> npt.NDArray[Any]:
        if self._numbers is None:
            raise NotFoundError(f"reasons need the column legal or reason, there are: {', '.join(self._columns)}")
        return self._numbers

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """One column.  Raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``, for an unknown name."""
        expect(str, column, "results.TileTable[]", "the name of a column (str)", "rows() iterates over the rows")
        if column not in self._columns:
            raise NotFoundError(f"no column {column!r}, there are: {', '.join(self._columns)}")
        return read_only(self._columns[column])

    def __len__(self) -> int:
        """The number of candidates."""
        return self._n

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, each a dictionary from column to value."""
        for values in zip(*(column.tolist() for column in self._columns.values()), strict=True):
            yield dict(zip(self._columns, values, strict=True))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def reason(self, row: int) -> str | None:
        """Why the candidate of a row is not legal, in words; ``None`` if it is.

        Raises :class:`~hlomap.errors.NotFoundError` for a table without the columns ``legal`` and ``reason``, and for a
        row that does not exist.
        """
        number = self._number_of(row)
        return self._texts[number] if number else None

    @property
    def reasons(self) -> Mapping[int, str]:
        """The texts of the numbers that occur in ``reason``.  Raises as :attr:`refused`."""
        numbers = np.unique(self._reason_numbers()).tolist()
        return ReadOnlyDict({number: self._texts[number] for number in numbers if number})

    def __reduce__(self) -> tuple[Any, ...]:
        return TileTable, (self._columns, self._n, self._texts, self._numbers)

    def __repr__(self) -> str:
        return f"<TileTable of {self._n} candidates: {', '.join(self._columns)}>"

    def __str__(self) -> str:
        names = [name for name in _SHOWN_COLUMNS if name in self._columns] or self.columns[: len(_SHOWN_COLUMNS)]
        shown = [self._columns[name][:SHOWN_ROWS].tolist() for name in names]
        return first_rows(names, shown, self._n, len(self._columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TileTable):
            return NotImplemented
        return self.columns == other.columns and all(np.array_equal(self[name], other[name]) for name in self.columns)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # set to None by __eq__: columns are arrays


def reason_texts(reads: Sequence[str], writes: Sequence[str]) -> dict[int, str]:
    """The texts of all reason numbers: reasons of a candidate, then reasons of each array."""
    names = _tile_reasons()
    texts = {0: "legal"}
    for k, name in enumerate(names):
        texts[1 + k] = f"{name}: {Refusal(name).meaning}"
    for a, array in enumerate([*(f"read {i} ({name})" for i, name in enumerate(reads)), *writes]):
        for k, name in enumerate(names):
            texts[1 + (a + 1) * len(names) + k] = f"{name}: {array}: {Refusal(name).meaning}"
    return texts
