"""The compiled core: expressions, indexing maps, shapes and HLO modules.

Everything here is immutable, hashable where equality is structural, safe to share between threads, and pickles
through its text form.  Import the names from :mod:`hlomap`, not from here.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from .analysis.rule_provider import RuleProvider
from .analysis.table import Table
from .answers import Answer, Unknown
from .interop.sympy import SympyMap
from .maps.image import Box, Interval
from .maps.map_set import MapSet
from .maps.set_questions import CommonElement
from .maps.simplification import SimplifyTrace
from .ops import _rule
from .pictures.picture import Picture

__version__: str

#: Name and law of every rule of the simplifier.
LAWS: list[tuple[str, str]]

_ExprLike: TypeAlias = "Expr | int"
_VariableLike: TypeAlias = "int | tuple[int, int] | list[int] | tuple[str, int, int] | Variable"
_ConstraintLike: TypeAlias = "tuple[_ExprLike, int, int] | Constraint"
_PointValues: TypeAlias = tuple[list[int], list[int], list[int]]
_SetAnswer: TypeAlias = tuple[bool | None, tuple[int, int, list[int], _PointValues, _PointValues] | None, str | None]

@final
class Expr:
    """An integer expression over the dim, range and runtime variables of a map, in normal form.

    Expressions come from :meth:`dim`, :meth:`range`, :meth:`runtime`, :meth:`constant` and :meth:`parse`, and
    from the Python operators ``+ - * // %`` with other expressions and ints.  ``//`` and ``%`` are floor division
    and its remainder, as for Python's ints; the divisor is a constant other than 0, or an expression that the
    domain of a map keeps positive.  A negative constant is normalised: ``x // -n`` is ``(-x) // n``, and ``x %
    -n`` is ``-((-x) % n)``.  Equality and hash are those of the normal form.  An expression pickles through its
    text; one with more than 2**20 nodes raises :class:`~hlomap.errors.MapError` instead.

    Raises :class:`~hlomap.errors.MapError` for a divisor of 0 and :class:`~hlomap.errors.SizeError` for a
    constant that does not fit in 64 bits.

    >>> import hlomap as hm
    >>> d0, d1 = hm.Expr.dim(0), hm.Expr.dim(1)
    >>> (d1 + d0 * 8) // 4
    Expr('(d0 * 8 + d1) floordiv 4')
    >>> d0 + d1 - d0 == d1
    True
    """

    @staticmethod
    def dim(index: int, /) -> Expr:
        """The dim variable ``d{index}``.

        >>> import hlomap as hm
        >>> print(hm.Expr.dim(2) * 3)
        d2 * 3
        """
    @staticmethod
    def range(index: int, /) -> Expr:
        """The range variable ``s{index}``.

        >>> import hlomap as hm
        >>> print(hm.Expr.range(0) + 1)
        s0 + 1
        """
    @staticmethod
    def runtime(index: int, /) -> Expr:
        """The runtime variable ``rt{index}``.

        >>> import hlomap as hm
        >>> print(hm.Expr.runtime(0) + hm.Expr.dim(0))
        d0 + rt0
        """
    @staticmethod
    def constant(value: int, /) -> Expr:
        """The constant ``value``, a 64-bit integer."""
    @staticmethod
    def parse(text: str, /) -> Expr:
        """Reads an expression over the variables ``d0``, ``d1``, …, ``s0``, … and ``rt0``, ….

        Raises :class:`~hlomap.errors.MapSyntaxError`, with line and column, for text that is not an expression.

        >>> import hlomap as hm
        >>> hm.Expr.parse("(d0 * 8 + s0) mod 4") == hm.Expr.range(0) % 4
        True
        """
    @staticmethod
    def minimum(a: _ExprLike, b: _ExprLike, /) -> Expr:
        """The smaller of two expressions.

        >>> import hlomap as hm
        >>> print(hm.Expr.minimum(hm.Expr.dim(0), 7))
        min(d0, 7)
        """
    @staticmethod
    def maximum(a: _ExprLike, b: _ExprLike, /) -> Expr:
        """The larger of two expressions.

        >>> import hlomap as hm
        >>> print(hm.Expr.maximum(hm.Expr.dim(0) - 1, 0))
        max(d0 - 1, 0)
        """
    def ceildiv(self, divisor: _ExprLike, /) -> Expr:
        """The quotient rounded up: ``(self + divisor - 1) // divisor``.

        >>> import hlomap as hm
        >>> print(hm.Expr.dim(0).ceildiv(4))
        (d0 + 3) floordiv 4
        """
    @property
    def kind(
        self,
    ) -> Literal["constant", "dim", "range", "runtime", "sum", "product", "floordiv", "mod", "min", "max"]:
        """The operator or the kind of variable at the root; a multiple such as ``d0 * 3`` or ``-d0`` is a product.

        >>> import hlomap as hm
        >>> (hm.Expr.dim(0) % 4).kind, hm.Expr.dim(0).kind, hm.Expr.constant(4).kind, (-hm.Expr.dim(0)).kind
        ('mod', 'dim', 'constant', 'product')
        """
    @property
    def value(self) -> int | None:
        """The value of a constant, the number of a variable; ``None`` for every other expression."""
    @property
    def operands(self) -> tuple[Expr, ...]:
        """The operands of the root, ``()`` for constants and variables.

        A sum has its terms, each with its factor, and last its constant other than 0; every other operator has
        its two sides.

        >>> import hlomap as hm
        >>> (hm.Expr.dim(0) // 4).operands
        (Expr('d0'), Expr('4'))
        >>> hm.Expr.parse("d1 * 3 - d0 + 2").operands
        (Expr('-d0'), Expr('d1 * 3'), Expr('2'))
        """
    def substitute(
        self, dims: Sequence[_ExprLike] = ..., ranges: Sequence[_ExprLike] = ..., runtime: Sequence[_ExprLike] = ...
    ) -> Expr:
        """The expression with variables replaced by number; a variable past the end of its list stays.

        Raises :class:`~hlomap.errors.MapError` where a divisor becomes a constant below 1.

        >>> import hlomap as hm
        >>> print(hm.Expr.parse("d0 * 8 + s0").substitute(dims=[hm.Expr.range(0)], ranges=[3]))
        s0 * 8 + 3
        """
    def __add__(self, other: _ExprLike, /) -> Expr: ...
    def __radd__(self, other: int, /) -> Expr: ...
    def __sub__(self, other: _ExprLike, /) -> Expr: ...
    def __rsub__(self, other: int, /) -> Expr: ...
    def __mul__(self, other: _ExprLike, /) -> Expr: ...
    def __rmul__(self, other: int, /) -> Expr: ...
    def __floordiv__(self, divisor: _ExprLike, /) -> Expr: ...
    def __mod__(self, divisor: _ExprLike, /) -> Expr: ...
    def __rfloordiv__(self, other: int, /) -> Expr: ...
    def __rmod__(self, other: int, /) -> Expr: ...
    def __neg__(self) -> Expr: ...
    def __copy__(self) -> Expr: ...
    def __deepcopy__(self, _memo: Any, /) -> Expr: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Variable:
    """A variable of a map: its name and its inclusive range.

    ``Variable(name, lower, upper)`` makes one; without a name it has the default one, ``d0``, ``s0`` or ``rt0``.
    The value of a runtime variable is an element of an array that is known only when the program runs: ``source``
    is an opaque number for that array, ``element`` its index in the array as expressions, and ``supplier`` the
    instruction behind the number, for maps that belong to a program.

    >>> import hlomap as hm
    >>> m = hm.IndexingMap([hm.Variable("row", 0, 3), 5], [hm.Expr.dim(1) + 1, hm.Expr.dim(0)])
    >>> print(m)
    (row, d1) -> (d1 + 1, row), domain: row in [0, 3], d1 in [0, 4]
    >>> m.dims[0].name, m.dims[1].upper
    ('row', 4)
    """

    def __new__(
        cls, name: str | None, lower: int, upper: int, *, source: int | None = None, element: Sequence[_ExprLike] = ...
    ) -> Variable: ...
    @property
    def name(self) -> str:
        """The given name, else ``d0``, ``s0`` or ``rt0`` by kind and number."""
    @property
    def lower(self) -> int:
        """The smallest value, inclusive."""
    @property
    def upper(self) -> int:
        """The largest value, inclusive."""
    @property
    def source(self) -> int | None:
        """The number of the array that holds the value of a runtime variable; ``None`` where it is not known."""
    @property
    def element(self) -> tuple[Expr, ...]:
        """The index of the element of the source, as expressions over the other variables; ``()`` for a scalar."""
    @property
    def supplier(self) -> Instruction | None:
        """The instruction whose value is the source; ``None`` for maps that do not belong to a program."""

@final
class Constraint:
    """The condition ``expr in [lower, upper]`` of a map's domain, both ends included.

    Wherever a constraint is expected, the triple ``(expr, lower, upper)`` will do.

    >>> import hlomap as hm
    >>> even = hm.Constraint(hm.Expr.dim(0) % 2, 0, 0)
    >>> print(hm.IndexingMap([8], [hm.Expr.dim(0)], constraints=[even]))
    (d0) -> (d0), domain: d0 in [0, 7], d0 mod 2 in [0, 0]
    """

    def __new__(cls, expr: _ExprLike, lower: int, upper: int) -> Constraint: ...
    @property
    def expr(self) -> Expr:
        """The expression that is constrained."""
    @property
    def lower(self) -> int:
        """The smallest allowed value, inclusive."""
    @property
    def upper(self) -> int:
        """The largest allowed value, inclusive."""

@final
class Count:
    """A number of elements, between ``lower`` and ``upper``; known if the two are equal.

    >>> import hlomap as hm
    >>> count = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 6]").count(distinct=True)
    >>> count.lower, count.upper, count.exact
    (4, 4, True)
    """

    @property
    def lower(self) -> int:
        """The number is at least this."""
    @property
    def upper(self) -> int:
        """The number is at most this; ``2**128 - 1`` where no smaller bound is known."""
    @property
    def exact(self) -> bool:
        """Whether ``lower`` and ``upper`` are equal."""

@final
class Cost:
    """The size of a map's results, counted as trees: an expression that occurs twice counts twice.

    >>> import hlomap as hm
    >>> cost = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]").cost()
    >>> cost.divmod, cost.nodes
    (2, 6)
    """

    @property
    def divmod(self) -> int:
        """The number of floor divisions and remainders."""
    @property
    def nodes(self) -> int:
        """The number of all nodes: operators, variables and constants."""

@final
class IndexingMap:
    """A symbolic map from the elements of one array to the elements of another that belong to them.

    ``(d0, …)[s0, …]{rt0, …} -> (results), domain: …``: ``dims`` are the index of an element of the first array,
    ``ranges`` take all their values, so that one element may have many, and ``runtime`` variables have values
    that are known only when the program runs.  Each result is the index in one dimension of the second array. The
    domain has the inclusive range of every variable, and constraints on expressions.

    Where variables are given, an int ``n`` stands for ``[0, n - 1]``, a pair for inclusive bounds, a triple for a
    name and bounds, and a :class:`Variable` for itself; a pair may be a list, as in JSON.  Equality and hash
    ignore variable names and the order of constraints.  A map pickles through its text, with the module of the
    instructions that it refers to (``use``, ``Variable.supplier``); one with more than 2**20 nodes raises
    :class:`~hlomap.errors.MapError` instead.

    Raises :class:`~hlomap.errors.MapError` for a variable that does not exist, a divisor that may be below 1, or
    bounds that do not fit.  The idea and the text form are those of XLA's indexing analysis
    (https://openxla.org/xla/indexing).

    >>> import hlomap as hm
    >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]")
    >>> back = hm.IndexingMap([4, 8], [hm.Expr.dim(0) * 8 + hm.Expr.dim(1)])
    >>> print(m.then(back).simplify())
    (d0) -> (d0), domain: d0 in [0, 31]
    """

    def __new__(
        cls,
        dims: Sequence[_VariableLike],
        results: Sequence[_ExprLike],
        *,
        ranges: Sequence[_VariableLike] = ...,
        runtime: Sequence[_VariableLike] = ...,
        constraints: Sequence[_ConstraintLike] = ...,
    ) -> IndexingMap: ...
    @staticmethod
    def identity(dims: Sequence[_VariableLike], /) -> IndexingMap:
        """The map ``(d0, d1, …) -> (d0, d1, …)`` over these dims.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.identity([4, 6]))
        (d0, d1) -> (d0, d1), domain: d0 in [0, 3], d1 in [0, 5]
        """
    @staticmethod
    def parse(
        text: str,
        /,
        *,
        dims: Sequence[_VariableLike] | None = None,
        ranges: Sequence[_VariableLike] | None = None,
        runtime: Sequence[_VariableLike] | None = None,
    ) -> IndexingMap:
        """Reads the text of a map, as ``str`` or ``format(m, "xla")`` prints it.

        Raises :class:`~hlomap.errors.MapSyntaxError`, with line and column, for text that is not a map, and
        :class:`~hlomap.errors.MapError` for a map that cannot exist.

        A text without ranges, such as MLIR's ``affine_map<...>``, takes them from ``dims``, ``ranges`` (MLIR's
        symbols) and ``runtime`` (MLIR's last symbols), given as to the constructor; names are those of the text.

        >>> import hlomap as hm
        >>> hm.IndexingMap.parse("(d0)[s0] -> (s0, d0), domain: d0 in [0, 3], s0 in [0, 5]").ranges[0].upper
        5
        >>> print(hm.IndexingMap.parse("affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>", dims=[64], ranges=[(0, 3)]))
        (d0)[s0] -> (d0 floordiv 8 + s0), domain: d0 in [0, 63], s0 in [0, 3]
        """
    @staticmethod
    def undefined(dims: Sequence[_VariableLike], /) -> IndexingMap:
        """The map over these dims about which nothing is known."""
    @property
    def dims(self) -> tuple[Variable, ...]:
        """The dim variables, one for each dimension of the first array."""
    @property
    def ranges(self) -> tuple[Variable, ...]:
        """The range variables."""
    @property
    def runtime(self) -> tuple[Variable, ...]:
        """The runtime variables."""
    @property
    def results(self) -> tuple[Expr, ...]:
        """One expression for each dimension of the second array."""
    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the domain besides the ranges of the variables."""
    @property
    def is_known_empty(self) -> bool:
        """Whether the domain is known to be empty.  ``False`` does not prove a point: see :meth:`is_empty`."""
    @property
    def is_undefined(self) -> bool:
        """Whether nothing is known about the map."""
    @property
    def shape_index(self) -> tuple[int, ...]:
        """The shape index of the tuple element that the map belongs to; ``()`` for an array."""
    @property
    def use(self) -> tuple[Instruction, int] | None:
        """The use that the map belongs to, as (user, operand number); ``None`` for a map that does not belong to
        one.
        """
    def _placed(
        self, index: tuple[int, ...], use: tuple[Instruction, int] | None, suppliers: dict[int, Instruction]
    ) -> IndexingMap:
        """The same map with a place in a program."""
    @overload
    def simplify(
        self,
        *,
        keep_point_dims: bool = False,
        drop_unused: bool = False,
        rescale: bool = False,
        trace: Literal[False] = False,
    ) -> IndexingMap: ...
    @overload
    def simplify(
        self,
        *,
        keep_point_dims: bool = False,
        drop_unused: bool = False,
        rescale: bool = False,
        trace: Literal[True],
    ) -> SimplifyTrace:
        """An equivalent map in normal form: it has the same image at every point of the domain.

        Variables with a single value become constants; ``keep_point_dims`` keeps such dims.  ``drop_unused``
        removes range and runtime variables that nothing uses and renumbers the others.  ``rescale`` lets a range
        variable whose residue a constraint fixes count in steps of the modulus: the map touches the same elements
        for other values of that variable.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.parse("(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]").simplify())
        (d0) -> (d0), domain: d0 in [0, 3]
        >>> m = hm.IndexingMap.parse("()[s0] -> (s0 + 1), domain: s0 in [0, 9], s0 mod 4 in [3, 3]")
        >>> print(m.simplify(rescale=True))
        ()[s0] -> (s0 * 4 + 4), domain: s0 in [0, 1]
        """
    def _simplify_traced(
        self, keep_point_dims: bool, drop_unused: bool, rescale: bool, /
    ) -> tuple[
        IndexingMap,
        list[tuple[str, str, str, str, tuple[IndexingMap, int, list[tuple[int, int] | None]] | None]],
    ]:
        """The simplified map, and of each rule that fired name, law, what was there before and after as texts and as
        statements."""
    @overload
    def then(self, second: IndexingMap, /) -> IndexingMap: ...
    @overload
    def then(self, second: MapSet, /) -> MapSet:
        """The composition: first this map, then ``second``; not simplified.  With a set it is a set, simplified.

        Ranges and runtime variables of this map come before those of the second; runtime variables keep their
        sources. Raises :class:`~hlomap.errors.MapError` where the number of results differs from the second map's
        number of dims.

        >>> import hlomap as hm
        >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
        >>> pair = hm.IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 9], s0 in [0, 1]")
        >>> print(shift.then(pair).simplify())
        (d0)[s0] -> (d0 + 1, s0), domain: d0 in [0, 3], s0 in [0, 1]
        """
    def restrict(self, dims: Mapping[int, Interval], /) -> IndexingMap:
        """The map for the points whose index lies in these intervals, a mapping from dimension to interval.

        An interval is one of the kinds that :meth:`image` takes.  Raises :class:`~hlomap.errors.ShapeError` for a
        dimension that does not exist.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]").restrict({1: (2, 4)}))
        (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
        """
    def __or__(self, other: MapSet | IndexingMap, /) -> MapSet:
        """The set of this map and the maps of ``other``: a :class:`~hlomap.MapSet`."""
    def __and__(self, other: MapSet | IndexingMap, /) -> MapSet:
        """The pairs (point, element) that both have, as :meth:`MapSet.__and__`."""
    def __sub__(self, other: MapSet | IndexingMap, /) -> MapSet:
        """The pairs (point, element) of this map that ``other`` does not have, as :meth:`MapSet.__sub__`."""
    def __ror__(self, other: NoReturn, /) -> NoReturn:
        """Not implemented: the left operand has the operator."""
    def __rand__(self, other: NoReturn, /) -> NoReturn:
        """Not implemented: the left operand has the operator."""
    def __rsub__(self, other: NoReturn, /) -> NoReturn:
        """Not implemented: the left operand has the operator."""
    def covers(self, other: MapSet | IndexingMap, /) -> Answer[tuple[int, ...]]:
        """Whether this map has all pairs (point, element) of ``other``, as :meth:`MapSet.covers`: a
        :class:`~hlomap.Answer`.

        >>> import hlomap as hm
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> row.covers(hm.IndexingMap.identity([5]))
        Answer(True)
        """
    def overlap(self, other: MapSet | IndexingMap, /) -> Answer[CommonElement]:
        """Whether some element is in the images of both, as :meth:`MapSet.overlap`: a :class:`~hlomap.Answer`.

        >>> import hlomap as hm
        >>> even, odd = (hm.IndexingMap([10], [hm.Expr.dim(0) * 2 + i]) for i in (0, 1))
        >>> even.overlap(odd)
        Answer(False)
        """
    def remap_sources(self, sources: Mapping[int, int], /) -> IndexingMap:
        """The map with the sources of runtime variables renumbered; numbers that are not in ``sources`` stay."""
    def evaluate(
        self,
        dims: npt.ArrayLike,
        ranges: npt.ArrayLike | None = None,
        runtime: npt.ArrayLike | None = None,
        *,
        check: bool = True,
        threads: int = 1,
    ) -> npt.NDArray[np.int64]:
        """The results at ``n`` points: an int64 array ``[n, results]``; for one point an array ``[results]``.

        ``dims``, ``ranges`` and ``runtime`` are integer arrays ``[n, k]`` with a column for each variable of the
        kind, or one point ``[k]``.  ``threads`` is the number of threads that share many points.

        A point outside the domain (see :meth:`in_domain`) raises :class:`~hlomap.errors.DomainError`; with
        ``check=False``, which is faster, its results are unspecified.  Values are the mathematical ones: a result
        in the domain that does not fit in 64 bits raises :class:`~hlomap.errors.SizeError`, arrays of another
        width :class:`~hlomap.errors.MapError`, and arrays of another type ``TypeError``.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0)[s0] -> (s0, d0 mod 3), domain: d0 in [0, 9], s0 in [0, 5]")
        >>> m.evaluate([[4], [5]], [[0], [2]])
        array([[0, 1],
               [2, 2]])
        >>> m.evaluate([4], [0])
        array([0, 1])
        """
    def in_domain(
        self, dims: npt.ArrayLike, ranges: npt.ArrayLike | None = None, runtime: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.bool_]:
        """Which of ``n`` points lie in the domain: a bool array ``[n]``; for one point a bool.

        The arguments are those of :meth:`evaluate`.  Raises :class:`~hlomap.errors.MapError` for arrays of
        another width and for an undefined map, and :class:`~hlomap.errors.SizeError` where a constraint does not
        fit in 128 bits.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 2 in [0, 0]")
        >>> m.in_domain([[4], [5], [12]])
        array([ True, False, False])
        """
    def bounds(self, result: int | Expr, /) -> tuple[int, int]:
        """Inclusive bounds ``(lower, upper)`` of a result, by number, or of an expression over the variables of the
        map.

        Every value in the domain lies within; the bounds are not always the tightest.  Raises
        :class:`~hlomap.errors.NotFoundError` for a result that does not exist and
        :class:`~hlomap.errors.SizeError` for a bound that does not fit in 64 bits.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0 mod 4, d0 + 1), domain: d0 in [0, 9]")
        >>> m.bounds(0), m.bounds(-1), m.bounds(hm.Expr.dim(0) * 2)
        ((0, 3), (1, 10), (0, 18))
        """
    def count(self, distinct: bool = False) -> Count:
        """The number of points of the domain, or with ``distinct=True`` the number of distinct elements in the
        image.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
        >>> m.count().upper, m.count(distinct=True).upper
        (8, 4)
        """
    def image(self, box: Box | None = None) -> MapSet:
        """The elements that the map reaches, from the points of a box of its dims if there is one: a
        :class:`~hlomap.MapSet` of maps without dims.

        ``box`` has an item for each dim: an int, inclusive bounds ``(lower, upper)``, a ``range`` or ``slice``
        with step 1, or ``None`` for all values; so a point gives what that point reaches.  Values outside the
        domain reach nothing.  The image of an undefined map is the unknown set.

        Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for a box of another rank or with other
        steps, and ``TypeError`` for anything but a sequence of intervals.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]")
        >>> print(m.image())
        ()[s0] -> (s0), domain: s0 in [0, 31]
        >>> print(m.image([(0, 2), range(4)]))
        ()[s0, s1] -> (s0 * 8 + s1), domain: s0 in [0, 2], s1 in [0, 3]
        """
    def is_injective(self) -> Answer[CommonElement]:
        """Whether different points reach different elements: a :class:`~hlomap.Answer`.

        A point is a value for each dim *and* each range, so an injective map reaches as many elements as its
        domain has points.  The answer holds for all values of the runtime variables.  The witness of ``False`` is
        an element with two points that reach it.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
        >>> found = m.is_injective()
        >>> assert found.witness is not None
        >>> found.value, found.witness.first.dims, found.witness.second.dims
        (False, (0,), (1,))
        """
    def inverse(self) -> IndexingMap | Unknown:
        """The map from the results back to the dims; :class:`~hlomap.Unknown` where this map is not known to be
        injective on its domain.

        The constraints of the inverse hold at the points that have a preimage.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 4]").inverse())
        (d0) -> ((d0 - 1) floordiv 2), domain: d0 in [1, 9], d0 mod 2 in [1, 1]
        >>> hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 4]").inverse()
        Unknown(reason='no inverse is known: the map may reach an element from several points')
        """
    def equivalent(self, other: MapSet | IndexingMap, /) -> Answer[tuple[int, ...]]:
        """Whether ``other`` is the same function: at each point it has the same image, the set over all ranges.

        A witness is a point whose images differ: values of the dims, then of the runtime variables.  A set is
        compared as by :meth:`MapSet.equivalent`.  Raises :class:`~hlomap.errors.ShapeError` for maps with other
        numbers of dims or results.

        >>> import hlomap as hm
        >>> a = hm.IndexingMap.parse("(d0) -> ((d0 * 6) mod 4), domain: d0 in [0, 9]")
        >>> a.equivalent(hm.IndexingMap.parse("(d0) -> (d0 mod 2 * 2), domain: d0 in [0, 9]")).value
        True
        """
    def is_empty(self) -> Answer[tuple[int, ...]]:
        """Whether the domain has no point; ``.value`` of the answer is ``None`` if that is undecided.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 9], d0 mod 4 in [3, 3]")
        >>> m.is_empty().value
        False
        """
    def cost(self) -> Cost:
        """The number of nodes of the results, a :class:`Cost`."""
    def to_isl(self) -> str:
        """The map as a relation in the notation of isl, from dims to results; ``islpy.Map`` takes the text.

        Runtime variables are parameters.  A range variable is a result of its own, or existentially quantified.
        Names that are words of the notation get an underscore; the sources of runtime variables are lost.

        Raises :class:`~hlomap.errors.UnsupportedError` for an expression that is not quasi-affine, a product of
        variables or a division by one, and :class:`~hlomap.errors.MapError` for an undefined map.  The notation
        is that of the isl manual (https://libisl.sourceforge.io/manual.pdf).

        >>> import hlomap as hm
        >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0), hm.Expr.dim(0) % 8], ranges=[3])
        >>> print(m.to_isl())
        { [d0] -> [o0, (d0 mod 8)] : 0 <= d0 <= 31 and exists (s0: 0 <= s0 <= 2 and o0 = floor(d0/8) + s0) }
        """
    def to_sympy(self) -> SympyMap:
        """The map as SymPy objects, a :class:`~hlomap.interop.sympy.SympyMap`: symbols, results and conditions.

        Raises :class:`~hlomap.errors.UnsupportedError` where sympy is not installed (extra ``sympy``), and
        :class:`~hlomap.errors.MapError` for an undefined map.

        >>> import hlomap as hm
        >>> found = hm.IndexingMap([32], [hm.Expr.dim(0) // 8, hm.Expr.dim(0) % 8]).to_sympy()
        >>> found.results, found.conditions
        ((floor(d0/8), Mod(d0, 8)), (d0 >= 0, d0 <= 31))
        """
    def to_mlir(self, part: Literal["map", "domain"] = "map") -> str:
        """The results as MLIR's ``affine_map<...>``, or with ``part="domain"`` the domain as ``affine_set<...>``.

        Range variables are symbols and runtime variables the symbols after them, as in XLA.  :meth:`parse` reads
        the map back, given the variables.  MLIR computes with 64 bits; this is not checked.

        Raises :class:`~hlomap.errors.UnsupportedError` for ``min``, ``max``, products of dims and divisions by
        dims, :class:`~hlomap.errors.SizeError` for a condition whose constant does not fit in 64 bits, and
        :class:`~hlomap.errors.MapError` for an undefined map.  The notation is that of MLIR's affine dialect
        (https://mlir.llvm.org/docs/Dialects/Affine).

        >>> import hlomap as hm
        >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0)], ranges=[3])
        >>> m.to_mlir()
        'affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>'
        >>> m.to_mlir("domain")
        'affine_set<(d0)[s0] : (d0 >= 0, -d0 + 31 >= 0, s0 >= 0, -s0 + 2 >= 0)>'
        >>> hm.IndexingMap.parse(m.to_mlir(), dims=m.dims, ranges=m.ranges) == m
        True
        """
    def to_smtlib(self) -> str:
        """The map as an SMT-LIB 2 script: it declares the variables and the results ``r0``, ``r1``, …, and asserts
        the domain and the value of each result.

        Append assertions and ``(check-sat)``; ``z3.Solver().from_string`` takes the text.  The logic is
        ``QF_LIA``, or ``QF_NIA`` where the map divides or multiplies variables.  Names that SMT-LIB reserves get
        an underscore.

        Raises :class:`~hlomap.errors.MapError` for an undefined map.  ``div`` and ``mod`` are those of the theory
        of integers (https://smt-lib.org/theories-Ints.shtml).

        >>> import hlomap as hm
        >>> print(hm.IndexingMap([32], [hm.Expr.dim(0) // 8]).to_smtlib())
        (set-logic QF_NIA)
        (declare-const d0 Int)
        (declare-const r0 Int)
        (assert (<= 0 d0 31))
        (assert (= r0 (div d0 8)))
        """
    def _repr_svg_(self) -> str | None: ...
    def __format__(self, spec: str, /) -> str: ...
    def __copy__(self) -> IndexingMap: ...
    def __deepcopy__(self, _memo: Any, /) -> IndexingMap: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def simplify_many(
    maps: Sequence[IndexingMap],
    /,
    *,
    keep_point_dims: bool = False,
    drop_unused: bool = False,
    rescale: bool = False,
    threads: int = 1,
) -> list[IndexingMap]:
    """:meth:`IndexingMap.simplify` of many maps, in order.

    One call without the interpreter lock, on ``threads`` threads; the other keywords are those of the method.
    Raises ``TypeError`` for anything but a sequence of maps.

    >>> import hlomap as hm
    >>> maps = [hm.IndexingMap.parse(f"(d0) -> (d0 mod {n}), domain: d0 in [0, 4]") for n in (3, 5)]
    >>> [str(m.results[0]) for m in hm.simplify_many(maps, threads=2)]
    ['d0 mod 3', 'd0']
    """

def compose_many(
    pairs: Sequence[tuple[IndexingMap, IndexingMap]],
    /,
    *,
    simplify: bool = False,
    drop_unused: bool = False,
    threads: int = 1,
) -> list[IndexingMap]:
    """:meth:`IndexingMap.then` of many pairs ``(first, second)``, in order.

    One call without the interpreter lock, on ``threads`` threads.  ``simplify=True`` simplifies each composition,
    with ``drop_unused`` as in :meth:`IndexingMap.simplify`.  Raises :class:`~hlomap.errors.MapError` where the
    numbers of results and dims of a pair differ, and ``TypeError`` for anything but a sequence of pairs.

    >>> import hlomap as hm
    >>> half = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
    >>> print(hm.compose_many([(half, half)], simplify=True)[0])
    (d0) -> (d0 floordiv 4), domain: d0 in [0, 7]
    """

def count_many(maps: Sequence[IndexingMap], /, *, distinct: bool = False, threads: int = 1) -> list[Count]:
    """:meth:`IndexingMap.count` of many maps, in order.

    One call without the interpreter lock, on ``threads`` threads.  Raises ``TypeError`` for anything but a
    sequence of maps.

    >>> import hlomap as hm
    >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
    >>> [hm.count_many([m], distinct=distinct)[0].upper for distinct in (False, True)]
    [8, 4]
    """

def bounds_many(maps: Sequence[IndexingMap], /, *, threads: int = 1) -> list[tuple[tuple[int, int], ...]]:
    """:meth:`IndexingMap.bounds` of every result of many maps: for each map a tuple of ``(lower, upper)`` by result.

    One call without the interpreter lock, on ``threads`` threads.  Errors as in the method; ``TypeError`` for
    anything but a sequence of maps.

    >>> import hlomap as hm
    >>> m = hm.IndexingMap.parse("(d0, d1) -> (d1 - d0, d0 mod 2), domain: d0 in [0, 7], d1 in [0, 9]")
    >>> hm.bounds_many([m])
    [((-7, 9), (0, 1))]
    """

# ---------------------------------------------------------------------------------------------------- shapes and HLO

@final
class Layout:
    """The order of an array's elements in memory: ``{1,0:T(8,128)}``.

    Dimensions are numbered as in the shape and listed minor to major: the first changes fastest in memory.  A
    negative dimension number counts from the end.  Equality is structural; a layout pickles through its text. The
    constructor raises :class:`~hlomap.errors.ShapeError` for values that no array can have; :meth:`parse` accepts
    them, and :attr:`problem` describes the first of them.  The text form is XLA's
    (https://openxla.org/xla/tiled_layout).

    >>> import hlomap as hm
    >>> layout = hm.Layout.parse("{1,0:T(8,128)(2,1)S(5)}")
    >>> layout.minor_to_major, layout.tiles, layout.memory_space
    ((1, 0), ((8, 128), (2, 1)), 5)
    >>> print(hm.Layout([1, 0], tiles=[(8, 128)]))
    {1,0:T(8,128)}
    """

    def __new__(
        cls,
        minor_to_major: Sequence[int],
        *,
        tiles: Sequence[Sequence[int | None]] = ...,
        tail_padding_alignment: int = 1,
        element_size_in_bits: int = 0,
        memory_space: int = 0,
        split_configs: Sequence[tuple[int, Sequence[int]]] = ...,
        padded_dimensions: Sequence[int] = ...,
        dim_level_types: str | None = None,
        index_type: str | None = None,
        pointer_type: str | None = None,
        physical_shape: Shape | None = None,
        dynamic_shape_metadata_prefix_bytes: int = 0,
    ) -> Layout: ...
    @staticmethod
    def parse(text: str, /) -> Layout:
        """Reads a layout with its braces.  Raises :class:`~hlomap.errors.ShapeError` for text that is not a layout.

        >>> import hlomap as hm
        >>> hm.Layout.parse("{0,1}").minor_to_major
        (0, 1)
        """
    def replace(self, **changes: Any) -> Layout:
        """The layout with some fields replaced, named as in the constructor; errors as there.

        >>> import hlomap as hm
        >>> print(hm.Layout([1, 0]).replace(tiles=[(8, 128)], memory_space=5))
        {1,0:T(8,128)S(5)}
        """
    @property
    def minor_to_major(self) -> tuple[int, ...]:
        """Dimension numbers; the first is the dimension that changes fastest in memory."""
    @property
    def tiles(self) -> tuple[tuple[int | None, ...], ...]:
        """``T(…)``: the tiles, each applied to the result of the one before.

        Sizes are in elements and belong to the most minor dimensions.  ``None`` stands for ``*``: the dimension
        is combined with the next more minor one.
        """
    @property
    def element_size_in_bits(self) -> int:
        """``E(n)``: the number of bits of an element in memory; 0 stands for whole bytes."""
    @property
    def memory_space(self) -> int:
        """``S(n)``: the memory space; 0 is the default memory."""
    @property
    def tail_padding_alignment(self) -> int:
        """``L(n)``: the size of the buffer is rounded up to a multiple of this number of elements."""
    @property
    def split_configs(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """``SC(d:i,j)``: pairs of a physical dimension (0 is the most major) and the indices at which a new part
        starts.
        """
    @property
    def padded_dimensions(self) -> tuple[int, ...]:
        """The size that each dimension is padded to before the array is laid out, or ``()``.  It has no text form."""
    @property
    def dim_level_types(self) -> str | None:
        """``D(…)`` as text, or ``None``."""
    @property
    def index_type(self) -> str | None:
        """The type in ``#(u32)``, or ``None``."""
    @property
    def pointer_type(self) -> str | None:
        """The type in ``*(u32)``, or ``None``."""
    @property
    def physical_shape(self) -> Shape | None:
        """The shape in ``P(shape)``, or ``None``."""
    @property
    def dynamic_shape_metadata_prefix_bytes(self) -> int:
        """``M(n)``: the number of bytes of metadata that a dynamic shape puts before the data."""
    @property
    def problem(self) -> str | None:
        """The reason why the layout is invalid for its rank, with the field and its value; ``None`` for a valid
        layout.

        >>> import hlomap as hm
        >>> hm.Layout.parse("{1,0:T(0,2)}").problem
        'tiles: expected positive sizes, found 0 in (0,2)'
        """
    def draw(self, dimensions: Sequence[int] | None = None) -> Picture:
        """A picture of an array with this layout and these ``dimensions``; without them, of an array of a few tiles.

        See :meth:`Shape.draw`, also for the errors.
        """
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[int], /) -> Layout: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Shape:
    """The shape of a value: an array of an element type, a tuple of shapes, a token, an opaque value or a buffer.

    ``Shape(dtype, dimensions, layout)`` is an array.  Sizes may be 0; a dynamic dimension counts with its bound.
    Equality is structural and includes the layout; a shape pickles through its text.

    Raises :class:`~hlomap.errors.ShapeError` for an unknown element type, a negative size, a layout of another
    rank, and more than 2**63 - 1 elements.

    >>> import hlomap as hm
    >>> shape = hm.Shape("bf16", [3, 5], hm.Layout.parse("{0,1}"))
    >>> print(shape, shape.rank, shape.n_elements)
    bf16[3,5]{0,1} 2 15
    """

    def __new__(cls, dtype: str, dimensions: Sequence[int], layout: Layout | None = None) -> Shape: ...
    @staticmethod
    def parse(text: str, /) -> Shape:
        """Reads a shape as HLO text has it.  Raises :class:`~hlomap.errors.ShapeError` for text that is not a shape.

        >>> import hlomap as hm
        >>> hm.Shape.parse("(f32[2,3]{1,0}, s32[])").tuple_shapes[0].dimensions
        (2, 3)
        """
    @staticmethod
    def tuple(shapes: Sequence[Shape], /) -> Shape:
        """The tuple of these shapes.

        >>> import hlomap as hm
        >>> print(hm.Shape.tuple([hm.Shape("f32", [2]), hm.Shape("s32", [])]))
        (f32[2], s32[])
        """
    @property
    def dtype(self) -> str:
        """The element type of an array as HLO text names it; else ``"tuple"``, ``"token"``, ``"opaque"`` or
        ``"buffer"``.
        """
    @property
    def dimensions(self) -> builtins.tuple[int, ...]:
        """Sizes by dimension number; ``()`` for everything but arrays.

        A dynamic dimension has its bound, or -1 without one.
        """
    @property
    def dynamic(self) -> builtins.tuple[bool, ...]:
        """For each dimension whether its size is known only when the program runs."""
    @property
    def rank(self) -> int:
        """The number of dimensions."""
    def size(self, dimension: int, /) -> int:
        """The size of a dimension; a negative number counts from the end.  -1 for a dimension without bound.

        Raises :class:`~hlomap.errors.ShapeError` for a dimension that does not exist.

        >>> import hlomap as hm
        >>> hm.Shape.parse("f32[3,5]").size(-1)
        5
        """
    @property
    def layout(self) -> Layout | None:
        """The layout as written; ``None`` for a shape without a layout, which is row-major."""
    def with_layout(self, layout: Layout | None, /) -> Shape:
        """The same array with another layout, or without one.

        Raises :class:`~hlomap.errors.ShapeError` for a layout that does not fit, and for everything but an array.

        >>> import hlomap as hm
        >>> print(hm.Shape("f32", [2, 3]).with_layout(hm.Layout([0, 1])))
        f32[2,3]{0,1}
        """
    def without_layout(self) -> Shape:
        """The shape without layouts, also in the elements of tuples."""
    def equals(self, other: Shape, /, *, layout: Literal["written", "meant", "ignored"] = "written") -> bool:
        """Whether two shapes are the same.

        ``layout="written"`` compares layouts as ``==`` does, ``"meant"`` reads a shape without a layout as
        row-major, and ``"ignored"`` leaves out layouts, and with them whether a dimension is dynamic.

        >>> import hlomap as hm
        >>> a, b = hm.Shape.parse("f32[2,3]"), hm.Shape.parse("f32[2,3]{1,0}")
        >>> a == b, a.equals(b, layout="meant"), a.equals(hm.Shape.parse("f32[2,3]{0,1}"), layout="ignored")
        (False, True, True)
        """
    @property
    def tuple_shapes(self) -> builtins.tuple[Shape, ...]:
        """The shapes of the elements of a tuple; ``()`` for everything else."""
    def at(self, index: Sequence[int], /) -> Shape:
        """The shape at a shape index; the shape itself for ``()``.

        Raises :class:`~hlomap.errors.ShapeError` for an index that does not exist.  The cost depends on the depth
        of the index alone.

        >>> import hlomap as hm
        >>> print(hm.Shape.parse("(f32[2,3], (s32[], bf16[5]))").at((1, 1)))
        bf16[5]
        """
    @property
    def is_tuple(self) -> bool:
        """Whether this is a tuple."""
    @property
    def is_array(self) -> bool:
        """Whether this is an array; a scalar is one."""
    @property
    def n_elements(self) -> int:
        """The number of elements of an array, dynamic dimensions at their bounds.

        Raises :class:`~hlomap.errors.ShapeError` for everything but an array, and for a dimension without bound.
        """
    @property
    def element_bits(self) -> int:
        """The number of bits of an element in memory: whole bytes, or ``n`` of ``E(n)``.

        >>> import hlomap as hm
        >>> [hm.Shape.parse(text).element_bits for text in ("s4[8]", "s4[8]{0:E(4)}", "c64[8]")]
        [8, 4, 64]
        """
    @property
    def value_bits(self) -> int:
        """The number of bits that carry the value of an element: 1 for ``pred``, 4 for ``s4``."""
    @property
    def buffer_elements(self) -> int:
        """The size of the buffer in elements, padding included.

        Raises :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded
        dimensions, and :class:`~hlomap.errors.SizeError` for more than 2**63 - 1.

        >>> import hlomap as hm
        >>> shape = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}")
        >>> shape.n_elements, shape.buffer_elements, shape.buffer_bytes, shape.padding_percent
        (15, 24, 96, 60.0)
        """
    @property
    def buffer_bytes(self) -> int:
        """The size of the buffer in bytes, padding included, the metadata of ``M(n)`` not.  Errors as
        :attr:`buffer_elements`.
        """
    @property
    def padding_percent(self) -> float:
        """The size of the padding, in per cent of the elements; infinite for a buffer of padding alone."""
    @property
    def physical(self) -> Shape:
        """The array as it lies in memory before tiling: dimensions major to minor, the tiles kept.

        >>> import hlomap as hm
        >>> print(hm.Shape.parse("f32[3,5,7]{0,2,1:T(8,128)}").physical)
        f32[5,7,3]{2,1,0:T(8,128)}
        """
    @property
    def tiled(self) -> Shape:
        """The buffer as a row-major array: the number of tiles along each dimension, then the sizes of a tile.

        >>> import hlomap as hm
        >>> print(hm.Shape.parse("bf16[16,300]{1,0:T(8,128)(2,1)}").tiled)
        bf16[2,3,4,128,2,1]
        """
    def logical(self, minor_to_major: Sequence[int], /) -> Shape:
        """The array whose :attr:`physical` this is, with its dimensions in this order, minor to major.

        >>> import hlomap as hm
        >>> print(hm.Shape.parse("f32[5,7,3]{2,1,0:T(8,128)}").logical([0, 2, 1]))
        f32[3,5,7]{0,2,1:T(8,128)}
        """
    @property
    def parts(self) -> builtins.tuple[builtins.tuple[builtins.tuple[int, ...], Shape], ...]:
        """The parts into which the split configs cut the array: the first index and the shape of each.

        They are in row-major order, where the config that is written first is the most major.  An array without
        split configs is its only part.

        >>> import hlomap as hm
        >>> for start, part in hm.Shape.parse("f32[5,6]{1,0:SC(0:2)}").parts:
        ...     print(start, part)
        (0, 0) f32[2,6]{1,0}
        (2, 0) f32[3,6]{1,0}
        """
    def draw(self) -> Picture:
        """A picture of the order of elements in memory: the array with its tiles, and memory in order with padding
        marked.

        ``str()`` of it is a form for the terminal, ``.svg`` the image; large arrays are shown in part.  Raises
        :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded dimensions.

        >>> import hlomap as hm
        >>> hm.Shape.parse("f32[2,3]{1,0:T(1,2)}").draw().svg[:4]
        '<svg'
        """
    def _repr_svg_(self) -> str | None: ...
    @staticmethod
    def _restored(text: str, padded: Sequence[Sequence[int]], /) -> Shape:
        """``padded`` has the padded dimensions of every array, in order: text does not."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def bitcast_factors(
    operand: Shape, output: Shape, /
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """A bitcast between two untiled layouts as transpose, reshape, transpose.

    Returns ``(operand_perm, operand_physical_dims, output_physical_dims, output_perm)``: logical dimension
    ``operand_perm[k]`` of the operand is its k-th most major one and has the size ``operand_physical_dims[k]``;
    likewise for the output.  The two physical indices have the same row-major position.  ``None`` for layouts
    with tiles or padding, for invalid ones, where widths or numbers of elements differ, and for everything but
    arrays.

    >>> import hlomap as hm
    >>> bitcast_factors = hm._core.bitcast_factors
    >>> bitcast_factors(hm.Shape.parse("f32[2,3]{0,1}"), hm.Shape.parse("f32[6]{0}"))
    ((1, 0), (3, 2), (6,), (0,))
    """

def grid_maps(
    names: Sequence[str],
    grid: Sequence[int],
    indices: Sequence[tuple[Sequence[Expr | int], Sequence[int]]],
    ranges: Sequence[int],
    constraints: Sequence[tuple[Expr | int, int, int]],
    /,
) -> list[IndexingMap]:
    """The simplified maps from a grid, whose dims have names and sizes, to indices; all stay within their ``sizes``.

    >>> import hlomap as hm
    >>> th, bl = hm.Expr.dim(0), hm.Expr.dim(1)
    >>> print(*hm._core.grid_maps(("th", "bl"), (8, 3), [([th + bl * 8], [20])], (), ()))
    (th, bl) -> (th + bl * 8), domain: th in [0, 7], bl in [0, 2], th + bl * 8 in [0, 19]
    """

def count_requests(
    elements: IndexingMap,
    shape: Shape,
    warp: int,
    vector: int,
    base_alignment: int,
    sector_bytes: int,
    effort: tuple[int, int, int] | None = None,
    /,
) -> tuple[tuple[int, int, int, int], str | None]:
    """(requests, sectors, bytes used, longest run) of a grid that accesses an array, and why they are upper bounds.

    ``elements`` leads from (th_x, th_y, th_z, bl_x, bl_y, bl_z) and ranges to the elements; the counts are those
    of the worst place in a sector at which the array may begin.  ``effort`` has the numbers of points that are
    few, that are many, and that are counted at most.  Raises what :func:`linear_index` and
    :meth:`IndexingMap.then` raise, and :class:`~hlomap.errors.SizeError` for totals beyond 128 bits.

    >>> import hlomap as hm
    >>> shape = hm.Shape("f32", [640])
    >>> hm._core.count_requests(hm.flat_thread_map(shape), shape, 32, 1, 256, 32)
    ((20, 80, 2560, 128), None)
    """

def linear_index(
    shape: Shape,
    /,
    *,
    shape_index: Sequence[int] | None = None,
    part: int | None = None,
    unit: Literal["element", "byte", "bit"] | None = None,
) -> IndexingMap:
    """The map from the index of an element to its position in the buffer, with the layout's order, tiles and
    padding.

    ``unit`` is the unit of positions: ``"element"`` (the default); ``"byte"``, the byte of the element's first
    bit; or ``"bit"``, where bit 0 is the lowest of byte 0.  For a tuple, ``shape_index`` is that of an array in
    it. ``part`` is the number of a part where split configs cut the array (:attr:`Shape.parts`): positions are
    then those in the buffer of the part.

    Raises :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded
    dimensions, :class:`~hlomap.errors.SizeError` for a buffer of more than 2**63 - 1 elements,
    :class:`~hlomap.errors.UnsupportedError` for a sparse layout, and ``TypeError`` for anything but a
    :class:`Shape`.

    >>> import hlomap as hm
    >>> m = hm.linear_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    >>> m.evaluate([2, 3])
    array([17])
    >>> print(hm.linear_index(hm.Shape.parse("s4[3,5]{1,0:E(4)}"), unit="bit"))
    (d0, d1) -> (d0 * 20 + d1 * 4), domain: d0 in [0, 2], d1 in [0, 4]
    """

def logical_index(shape: Shape, /, *, shape_index: Sequence[int] | None = None, part: int | None = None) -> IndexingMap:
    """The map from a position in the buffer, counted in elements, to the index of the element there.

    Positions of padding lie outside its domain.  Arguments and errors as in :func:`linear_index`.

    >>> import hlomap as hm
    >>> m = hm.logical_index(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    >>> m.evaluate([17]), m.in_domain([[17], [18], [19]])
    (array([2, 3]), array([ True, False, False]))
    """

def buffer_elements(shape: Shape, /) -> int:
    """The size of the buffer of an array in elements, padding included: :attr:`Shape.buffer_elements`."""

def strides(shape: Shape, /) -> list[list[tuple[int, int, int]]] | str:
    """For each dimension its mixed-radix digits, minor first: (size, weight in the index, stride in the buffer).

    A text with the reason for layouts that have no such form.

    >>> import hlomap as hm
    >>> hm._core.strides(hm.Shape.parse("f32[4,6]{1,0:T(2,2)}"))
    [[(2, 1, 2), (2, 2, 12)], [(2, 1, 1), (3, 2, 4)]]
    >>> hm._core.strides(hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    'a tile of size 2 splits dimension 0 of size 3 unevenly'
    """

def reshape_is_bitcast(operand: Shape, output: Shape, /) -> Answer[tuple[int, ...]]:
    """Whether a reshape moves no bytes, tiles and padding taken into account.

    It moves none where every element of the output has the position of the operand's element with the same
    row-major number, in buffers of one size.  The witness is the index of an output element that has another
    position.  Raises :class:`~hlomap.errors.ShapeError` for everything but arrays with valid layouts and bounded
    dimensions, and ``TypeError`` for anything but :class:`Shape`.

    >>> import hlomap as hm
    >>> a, b = hm.Shape.parse("f32[16,256]{1,0:T(8,128)}"), hm.Shape.parse("f32[2,8,256]{2,1,0:T(8,128)}")
    >>> hm.layouts.reshape_is_bitcast(a, b)
    Answer(True)
    """

def transpose_is_bitcast(operand: Shape, output: Shape, dimensions: Sequence[int], /) -> Answer[tuple[int, ...]]:
    """Whether a transpose moves no bytes: dimension i of the output is the operand's dimension ``dimensions[i]``.

    A negative number counts from the end.  Witness and errors as in :func:`reshape_is_bitcast`;
    :class:`~hlomap.errors.ShapeError` also where ``dimensions`` do not transpose one shape to the other.

    >>> import hlomap as hm
    >>> a, b = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"), hm.Shape.parse("f32[5,3]{0,1:T(2,2)}")
    >>> hm.layouts.transpose_is_bitcast(a, b, [1, 0])
    Answer(True)
    """

def is_valid_bitcast(operand: Shape, output: Shape, /) -> Answer[tuple[int, ...]]:
    """Whether one buffer serves both shapes: the operand has an element at the position of every output element.

    The buffers must have one size.  Witness and errors as in :func:`reshape_is_bitcast`.

    >>> import hlomap as hm
    >>> a, b = hm.Shape.parse("f32[3,5]{1,0:T(2,2)}"), hm.Shape.parse("f32[15]")
    >>> hm.layouts.is_valid_bitcast(a, b)
    Answer(False, witness=(0,))
    """

_Array: TypeAlias = npt.NDArray[Any]

def pack_into(shape: Shape, array: _Array, buffer: _Array, fill: _Array, threads: int, /) -> None:
    """Lays out a flat array of unsigned integers or complex numbers; ``fill`` has one element for the padding."""

def unpack_into(shape: Shape, buffer: _Array, array: _Array, threads: int, /) -> None:
    """Reads a flat buffer back into a flat array in row-major order."""

def squeeze_bits(wide: _Array, n_bytes: int, width: int, narrow: _Array, /) -> None:
    """Packs the low ``width`` bits of each element of ``n_bytes`` bytes, one after the other."""

def spread_bits(narrow: _Array, width: int, value: int, is_signed: bool, n_bytes: int, wide: _Array, /) -> None:
    """Unpacks elements of ``width`` bits, of which ``value`` count, to elements of ``n_bytes`` bytes."""

@final
class Module:
    r"""An HLO module: computations of instructions.

    Modules come from :func:`~hlomap.parse`, :func:`~hlomap.load`, :func:`~hlomap.from_jax` and
    :meth:`~hlomap.Builder.build`.  ``module[name]`` is an instruction, :meth:`computation` finds a computation;
    ``str`` is text that XLA parses.  A module is equal to itself alone, see :meth:`same_as`; its computations and
    instructions are equal where they are the same part of the same module.  A copy is the module itself; an
    unpickled one has the same text, positions and ids, and is another module.

    >>> import hlomap as hm
    >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
    >>> module.entry.root.opcode, module["n"].operands[0].name
    ('negate', 'p')
    """

    @property
    def name(self) -> str:
        """The name of the module; empty for text without one."""
    @property
    def entry(self) -> Computation:
        """The computation that runs: the one marked ``ENTRY``, else the last one."""
    @property
    def computations(self) -> tuple[Computation, ...]:
        """All computations in text order; one that is written inside an instruction comes before that instruction's
        own.
        """
    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions of all computations in text order."""
    @property
    def attributes(self) -> Attributes:
        """The attributes of the header, by name."""
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems of the text that parsing could skip, in text order."""
    @property
    def n_instructions(self) -> int:
        """The number of instructions of all computations."""
    def instruction(self, number: int, /) -> Instruction:
        """The instruction with this number, from 0 to ``n_instructions - 1``.

        Raises :class:`~hlomap.errors.NotFoundError` for any other number.
        """
    def to_proto(self) -> bytes:
        r"""The module as a serialized ``HloModuleProto``, which XLA reads.

        Repeated names get a number, since XLA wants them unique.  What XLA's messages have no field for, such as an
        unknown attribute or ``num_partitions``, is left out, as XLA does.  Raises
        :class:`~hlomap.errors.UnsupportedError` for text without the names of operands, and for a value that its field
        cannot hold.

        >>> import hlomap as hm
        >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
        >>> hm.parse(module.to_proto()).entry.root.opcode
        'negate'
        """
    def same_as(self, other: Module, /, *, names: bool = True) -> bool:
        """Whether another module has the same computations of the same instructions in the same order.

        Shapes with layouts, operands, attributes, values and metadata count, their spelling does not; with
        ``names=False`` names do not count either.

        >>> import hlomap as hm
        >>> a, b = (hm.parse(f"ENTRY e {{ ROOT {name} = f32[2] parameter(0) }}") for name in "pq")
        >>> a.same_as(b), a.same_as(b, names=False)
        (False, True)
        """
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        r"""The text of the module, which XLA parses; without arguments that of ``str``.

        ``operand_shapes`` prints the shape before each operand, ``metadata`` the origin of instructions with the
        tables of stack frames, ``layouts`` the layouts of shapes, and ``backend_config`` and
        ``control_predecessors`` these attributes.  ``large_constants=False`` prints ``{...}`` for more than ten
        elements, ``signatures`` the parameters and result of a computation before its brace.  ``canonical_names``
        renames instructions to ``tmp_0``, ``tmp_1``, … and computations to ``computation_0``, ….

        >>> import hlomap as hm
        >>> module = hm.parse("HloModule m\nENTRY e { p = f32[2]{0} parameter(0) ROOT n = f32[2]{0} negate(p) }")
        >>> print(module.to_string(layouts=False, operand_shapes=True, canonical_names=True, signatures=False))
        HloModule m
        <BLANKLINE>
        ENTRY %computation_0 {
          %tmp_0 = f32[2] parameter(0)
          ROOT %tmp_1 = f32[2] negate(f32[2] %tmp_0)
        }
        <BLANKLINE>
        """
    def __getitem__(self, name: str, /) -> Instruction: ...
    def _repr_html_(self) -> str | None: ...
    def __iter__(self) -> NoReturn: ...
    def computation(self, name: str, /) -> Computation:
        """The computation of this name, with or without ``%``.

        Raises :class:`~hlomap.errors.NotFoundError`, with a similar name if there is one; for the name of an
        instruction the message refers to ``module[name]``.

        >>> import hlomap as hm
        >>> module = hm.parse("f { p = f32[] parameter(0) } ENTRY e { q = f32[] parameter(0) }")
        >>> module.computation("f").root.name
        'p'
        """
    def __copy__(self) -> Module: ...
    def __deepcopy__(self, _memo: Any, /) -> Module: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Computation:
    """A computation of a module: instructions with a root.

    ``computation[name]`` is an instruction, iteration is over the instructions in text order.

    >>> import hlomap as hm
    >>> computation = hm.parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }").entry
    >>> [instruction.name for instruction in computation], len(computation), computation["p"].users[0].name
    (['p', 'n'], 2, 'n')
    """

    @property
    def name(self) -> str:
        """The name without ``%``; empty for a computation that is written inside an instruction."""
    @property
    def root(self) -> Instruction:
        """The instruction whose value is that of the computation."""
    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters in the order of their numbers."""
    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions in text order."""
    @property
    def module(self) -> Module:
        """The module that the computation belongs to."""
    @property
    def attributes(self) -> Attributes:
        """The attributes after its closing brace, by name."""
    @property
    def callers(self) -> tuple[Instruction, ...]:
        """The instructions that call the computation, in text order."""
    @property
    def is_fusion(self) -> bool:
        """Whether a fusion calls the computation."""
    @property
    def number(self) -> int:
        """Its index in the module's ``computations``."""
    @property
    def fingerprint(self) -> bytes:
        """A hash of 16 bytes, equal for computations that do the same; names do not count."""
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        """The text of this computation alone; the arguments are those of :meth:`Module.to_string`.

        XLA parses it with ``ENTRY`` before it, if it calls no other computation.
        """
    def _forwards(self, index: Sequence[int]) -> bool: ...
    def __getitem__(self, name: str, /) -> Instruction: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Instruction]: ...
    def __copy__(self) -> Computation: ...
    def __deepcopy__(self, _memo: Any, /) -> Computation: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Instruction:
    """One instruction of a module.

    >>> import hlomap as hm
    >>> module = hm.parse("ENTRY e { p = f32[4,6] parameter(0) ROOT t = f32[6,4] transpose(p), dimensions={1,0} }")
    >>> t = module["t"]
    >>> t.opcode, str(t.shape), t.operands[0].name, t.attributes["dimensions"]
    ('transpose', 'f32[6,4]', 'p', (1, 0))
    """

    @property
    def name(self) -> str:
        """The name without ``%``."""
    @property
    def opcode(self) -> str:
        """The operation as HLO text names it: ``"dynamic-slice"``."""
    @property
    def shape(self) -> Shape:
        """The shape of its value."""
    @property
    def operands(self) -> tuple[Instruction, ...]:
        """The operands, in order; ``()`` for text without their names, see :attr:`has_unnamed_operands`."""
    @property
    def has_unnamed_operands(self) -> bool:
        """Whether the text leaves out the names of the operands, so that they are not known."""
    def _has(
        self,
        name: Literal["moves", "selects", "varies", "no_kernel", "replica_groups", "modular", "linear"],
        /,
    ) -> bool:
        """Whether the operation has this trait, a column of the table of opcodes."""
    @property
    def inconsistency(self) -> str | None:
        """The reason why the shape, operands and attributes do not fit together; ``None`` if they fit.

        The module then has a diagnostic too, and the elements that the instruction reads are unknown.
        """
    @property
    def inferred_shape(self) -> Shape | None:
        """The shape that operands and attributes determine; ``None`` if they do not determine it or do not fit
        together.
        """
    def _integer(self) -> int | None: ...
    def _unanswerable(self, index: Sequence[int], direction: int) -> str | None: ...
    @property
    def async_steps(self) -> tuple[Instruction, ...]:
        """The steps of an asynchronous operation up to this one, its start first; ``()`` for any other instruction.

        The start is missing where the operation comes from elsewhere, as in a loop that carries it on.
        """
    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, in text order."""
    @property
    def called_computations(self) -> tuple[Computation, ...]:
        """The computations that it calls, in text order."""
    @property
    def attributes(self) -> Attributes:
        """Its attributes by name, decoded on access."""
    @property
    def literal(self) -> Any:
        """The value of a constant: a read-only array, or a tuple of such; ``None`` for every other instruction.

        Raises :class:`~hlomap.errors.UnsupportedError` for text that leaves the value out (``{...}``).

        >>> import hlomap as hm
        >>> hm.parse("ENTRY e { ROOT c = s32[3] constant({1, 2, 3}) }").entry.root.literal
        array([1, 2, 3], dtype=int32)
        """
    @property
    def metadata(self) -> Metadata:
        """The origin of the instruction in the program, resolved through the tables of stack frames.

        >>> import hlomap as hm
        >>> text = 'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="x" source_file="f.py" source_line=3} }'
        >>> metadata = hm.parse(text).entry.root.metadata
        >>> metadata.op_name, metadata.source_file, metadata.source_line
        ('x', 'f.py', 3)
        """
    @property
    def computation(self) -> Computation:
        """The computation that the instruction belongs to."""
    @property
    def module(self) -> Module:
        """The module that the instruction belongs to."""
    @property
    def number(self) -> int:
        """Its number in the module: unique, dense and from 0."""
    @property
    def position(self) -> int:
        """Its index in the computation's ``instructions``."""
    @property
    def is_root(self) -> bool:
        """Whether it is the root of its computation."""
    @property
    def parameter_number(self) -> int | None:
        """The number of a parameter; ``None`` for every other instruction."""
    def signature(self, constant_operands: Sequence[int] = ..., /) -> bytes:
        """A hash of 16 bytes, equal for instructions whose indexing rules must give equal results.

        The operation, shapes with layouts, semantic attributes and the content of called computations count; for
        the operands with the numbers ``constant_operands`` also the content of constants and iotas.
        """
    def to_string(
        self,
        *,
        operand_shapes: bool = False,
        metadata: bool = True,
        layouts: bool = True,
        backend_config: bool = True,
        control_predecessors: bool = True,
        large_constants: bool = True,
        signatures: bool = True,
        canonical_names: bool = False,
    ) -> str:
        """The text of this instruction in one line, without ``ROOT``; the arguments are those of
        :meth:`Module.to_string`.

        XLA parses it with ``operand_shapes=True``.
        """
    def _repr_html_(self) -> str | None: ...
    def __copy__(self) -> Instruction: ...
    def __deepcopy__(self, _memo: Any, /) -> Instruction: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Attributes(Mapping[str, Any]):
    """The attributes of a module, a computation or an instruction: a mapping from their names in the text to values.

    Braced lists of ints are tuples of ints, lists of lists tuples of tuples; keywords are ``str``; computations
    are :class:`~hlomap.Computation`.  ``slice`` is a tuple of ``(start, limit, stride)``, ``padding`` a tuple of
    ``(low, high, interior)``, ``window`` a :class:`Window`, ``dim_labels`` a
    :class:`ConvolutionDimensionNumbers`, ``sharding`` a :class:`Sharding`, ``replica_groups``
    :class:`ReplicaGroups`, ``frontend_attributes`` a dict, ``sparsity_config`` and ``block_scaling_config`` a
    dict of the items of each side, ``result_accuracy`` a :class:`ResultAccuracy`; ``input_output_alias``,
    ``buffer_donor`` and ``output_to_operand_aliasing`` are tuples of :class:`InputOutputAlias`,
    :class:`BufferDonor` and :class:`OperandAlias`.  An unknown attribute, or one whose value cannot be decoded,
    is its text.  A missing name raises :class:`~hlomap.errors.NotFoundError`, a ``KeyError``.

    >>> import hlomap as hm
    >>> text = "s = f32[2] slice(f32[5] p), slice={[1:5:2]}"
    >>> dict(hm.parse(text)["s"].attributes)
    {'slice': ((1, 5, 2),)}
    """

    def __getitem__(self, name: str, /) -> Any: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """The value of an attribute, or ``default`` for a missing one."""
    def text(self, name: str, /) -> str | None:
        """The value as written; ``None`` for a missing attribute.

        >>> import hlomap as hm
        >>> hm.parse("s = f32[2] slice(f32[5] p), slice={[1:5:2]}")["s"].attributes.text("slice")
        '{[1:5:2]}'
        """
    def keys(self) -> list[str]:  # type: ignore[override]
        """The names, in text order."""
    def values(self) -> list[Any]:  # type: ignore[override]
        """The values, in text order."""
    def items(self) -> list[tuple[str, Any]]:  # type: ignore[override]
        """Pairs of name and value, in text order."""
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Window:
    """The window of a convolution, a reduce-window or a select-and-scatter: one :class:`WindowDim` for each
    dimension.

    A window pickles through its text.

    >>> import hlomap as hm
    >>> window = hm.hlo.Window.parse("{size=3x1 stride=2x1 pad=1_1x0_0}")
    >>> len(window), window.dims[0].stride, window.dims[0].pad_high
    (2, 2, 1)
    """

    @staticmethod
    def parse(text: str) -> Window:
        """Reads a window with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a
        window.

        >>> import hlomap as hm
        >>> hm.hlo.Window.parse("{size=3x1 pad=1_1x0_0}").dims[0].pad_low
        1
        """
    @property
    def dims(self) -> tuple[WindowDim, ...]:
        """The dimensions, in order."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class WindowDim:
    """One dimension of a window.

    >>> import hlomap as hm
    >>> hm.hlo.WindowDim(3, stride=2) == hm.hlo.Window.parse("{size=3 stride=2}").dims[0]
    True
    """

    def __new__(
        cls,
        size: int,
        *,
        stride: int = 1,
        pad_low: int = 0,
        pad_high: int = 0,
        base_dilation: int = 1,
        window_dilation: int = 1,
        reversal: bool = False,
    ) -> WindowDim: ...
    @property
    def size(self) -> int:
        """The number of elements in the window."""
    @property
    def stride(self) -> int:
        """The distance between the windows of neighbouring output elements, in elements of the padded operand."""
    @property
    def pad_low(self) -> int:
        """The number of elements of padding before the first element; a negative number removes elements."""
    @property
    def pad_high(self) -> int:
        """The number of elements of padding after the last element; a negative number removes elements."""
    @property
    def base_dilation(self) -> int:
        """The distance between neighbouring elements of the operand; 1 leaves no holes."""
    @property
    def window_dilation(self) -> int:
        """The distance between neighbouring elements of the window; 1 leaves no holes."""
    @property
    def reversal(self) -> bool:
        """Whether the window is reversed."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ConvolutionDimensionNumbers:
    """The roles of the dimensions of a convolution's operand, kernel and output: ``bf01_oi01->bf01``.

    They pickle through their text.

    >>> import hlomap as hm
    >>> numbers = hm.hlo.ConvolutionDimensionNumbers.parse("b01f_01io->b01f")
    >>> numbers.input_feature, numbers.kernel_spatial, numbers.output_batch
    (3, (0, 1), 0)
    """

    @staticmethod
    def parse(text: str) -> ConvolutionDimensionNumbers:
        """Reads dimension numbers.  Raises :class:`~hlomap.errors.HloSyntaxError` for any other text.

        >>> import hlomap as hm
        >>> hm.hlo.ConvolutionDimensionNumbers.parse("b0f_0io->b0f").input_feature
        2
        """
    @property
    def input_batch(self) -> int:
        """The operand's batch dimension."""
    @property
    def input_feature(self) -> int:
        """The operand's feature dimension."""
    @property
    def input_spatial(self) -> tuple[int, ...]:
        """The operand's spatial dimensions."""
    @property
    def kernel_input_feature(self) -> int:
        """The kernel's input feature dimension."""
    @property
    def kernel_output_feature(self) -> int:
        """The kernel's output feature dimension."""
    @property
    def kernel_spatial(self) -> tuple[int, ...]:
        """The kernel's spatial dimensions."""
    @property
    def output_batch(self) -> int:
        """The output's batch dimension."""
    @property
    def output_feature(self) -> int:
        """The output's feature dimension."""
    @property
    def output_spatial(self) -> tuple[int, ...]:
        """The output's spatial dimensions."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Sharding:
    """The distribution of a value over devices: ``{replicated}``, ``{devices=[2,2]<=[4]}``, ``{mesh['x'=2],
    [{'x'}]}``, tuples.

    Equality and hash are structural; a sharding pickles through its text.

    >>> import hlomap as hm
    >>> sharding = hm.hlo.Sharding.parse("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}")
    >>> sharding.kind, sharding.tile_dimensions, sharding.devices
    ('tiled', (2, 1, 4), (0, 2, 4, 6, 1, 3, 5, 7))
    >>> hm.hlo.Sharding.parse("{{replicated}, {maximal device=3}}").parts[1].device
    3
    """

    @staticmethod
    def parse(text: str) -> Sharding:
        """Reads a sharding with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a
        sharding.

        >>> import hlomap as hm
        >>> hm.hlo.Sharding.parse("{replicated}").kind
        'replicated'
        """
    @property
    def kind(self) -> str:
        """``"replicated"``, ``"maximal"`` (on one device), ``"manual"``, ``"unknown"``, ``"unreduced"``,
        ``"tiled"``, ``"named"`` (by the axes of a mesh) or ``"tuple"``.
        """
    @property
    def parts(self) -> tuple[Sharding, ...]:
        """The shardings of a tuple's leaves; ``()`` for everything else."""
    @property
    def device(self) -> int | None:
        """The device of a ``"maximal"`` sharding; else ``None``."""
    @property
    def tile_dimensions(self) -> tuple[int, ...] | None:
        """The number of tiles along each dimension of a ``"tiled"`` sharding, then those that only devices have;
        else ``None``.
        """
    @property
    def devices(self) -> tuple[int, ...] | None:
        """The device of each tile of a ``"tiled"`` sharding, in row-major order of ``tile_dimensions``; else
        ``None``.

        Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**24 devices.
        """
    @property
    def iota(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """``(reshape, transpose)`` where the devices of a ``"tiled"`` sharding are an iota; else ``None``."""
    @property
    def replicates_last_dimension(self) -> bool:
        """Whether the devices along the last of ``tile_dimensions`` have the same tile."""
    @property
    def last_dimensions(self) -> tuple[str, ...]:
        """The roles of the last ``tile_dimensions``, which only devices have: ``"replicated"``, ``"manual"``, …."""
    @property
    def group(self) -> tuple[str, int] | None:
        """``("as", n)`` or ``("like", n)``: sharded as, or like, all others of group ``n``; else ``None``."""
    @property
    def metadata(self) -> tuple[str, ...]:
        """The origins of the sharding, each as text in braces."""
    @property
    def mesh(self) -> Mesh | None:
        """The mesh of a ``"named"`` sharding; else ``None``."""
    @property
    def dimension_axes(self) -> tuple[tuple[str, ...], ...]:
        """The axes that cut each dimension in a ``"named"`` sharding, ``"?"`` last where more may be added; else
        ``()``.
        """
    @property
    def replicated_axes(self) -> tuple[str, ...]:
        """The axes of a ``"named"`` sharding along which all devices have the same data."""
    @property
    def unreduced_axes(self) -> tuple[str, ...]:
        """The axes of a ``"named"`` sharding along which each device has a partial result."""
    @property
    def reduction(self) -> str | None:
        """How the partial results of devices combine to the whole: ``"sum"``, ``"max"`` or ``"min"``; ``None`` if no
        device has any.

        >>> import hlomap as hm
        >>> hm.hlo.Sharding.parse("{mesh['x'=2], [{}], unreduced=max{'x'}}").reduction
        'max'
        """
    @property
    def manual_axes(self) -> tuple[str, ...]:
        """The axes of a ``"named"`` sharding that the program partitions itself."""
    def _axis_numbers(
        self,
    ) -> tuple[
        tuple[tuple[tuple[int, int, int], ...], ...],
        tuple[tuple[int, int, int], ...],
        tuple[tuple[int, int, int], ...],
        tuple[tuple[int, int, int], ...],
    ]:
        """The axes that cut each dimension, those with replicas, with summands and with manual parts: each as number,
        size before the part, size.
        """
    def device_map(self, shape: Shape, num_devices: int | None = None) -> MapSet:
        """Which element of an array lies on each device: a :class:`~hlomap.MapSet` from ``(device, l0, l1, …)``, an
        element of a device's part, to the element of the whole array.

        Parts that end before the others, in an array that the tiles do not divide, have a constraint.  There is
        one map where the order of the devices is an iota or has strides like one, else a map for each run of
        devices; ``.reason`` tells where that takes many.  The set is unknown for the kind ``"unknown"``, and not
        exact where devices hold summands (``"unreduced"``) or arrays of their own (``"manual"``).
        ``num_devices`` is the number of devices that a replicated array is on; without it every number of 31 bits
        is a device.

        Raises :class:`~hlomap.errors.ShapeError` for everything but an array whose rank fits, for a device that
        is listed twice and for sizes that do not agree.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[2,4]<=[8]}")
        >>> print(sharding.device_map(hm.Shape("f32", [10, 12])))
        (device, l0, l1) -> ((device floordiv 4) * 5 + l0, (device mod 4) * 3 + l1),
        domain: device in [0, 7], l0 in [0, 4], l1 in [0, 2]
        """
    def owner_map(self, shape: Shape, num_devices: int | None = None) -> MapSet:
        """The devices that hold each element: a :class:`~hlomap.MapSet` from the indices of the array to a device.

        Replicas are a range variable.  Everything else is as in :meth:`device_map`, whose pairs these are.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[2,1,4]<=[8] last_tile_dim_replicate}")
        >>> print(sharding.owner_map(hm.Shape("f32", [10, 12])))
        (d0, d1)[s0] -> ((d0 floordiv 5) * 4 + s0), domain: d0 in [0, 9], d1 in [0, 11], s0 in [0, 3]
        """
    def local_shape(self, shape: Shape, device: int | None = None) -> Shape | None:
        """The shape of the part of an array that a device holds, of the largest part without a device; ``None`` for
        a device that the sharding does not have.

        Sizes are 0 for a device beyond the end of the array.  A layout stays.  Errors are those of
        :meth:`device_map`; :class:`~hlomap.errors.UnsupportedError` where the kind says nothing about parts.

        >>> import hlomap as hm
        >>> sharding, shape = hm.hlo.Sharding.parse("{devices=[4]<=[4]}"), hm.Shape("f32", [10])
        >>> print(sharding.local_shape(shape), sharding.local_shape(shape, 3), sharding.local_shape(shape, 4))
        f32[3] f32[1] None
        """
    def is_even(self, shape: Shape) -> bool:
        """Whether all devices of the sharding hold parts of one size.  Errors are those of :meth:`local_shape`.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[4]<=[4]}")
        >>> sharding.is_even(hm.Shape("f32", [12])), sharding.is_even(hm.Shape("f32", [10]))
        (True, False)
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Mesh:
    """An array of devices whose dimensions have names: ``mesh['x'=2,'y'=4]``.

    >>> import hlomap as hm
    >>> mesh = hm.hlo.Sharding.parse("{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x'}]}").mesh
    >>> mesh.axes, mesh.devices
    ({'x': 2, 'y': 2}, (3, 2, 1, 0))
    """

    @staticmethod
    def parse(text: str) -> Mesh:
        """Reads a mesh.  Raises :class:`~hlomap.errors.HloSyntaxError` for text that is not a mesh.

        >>> import hlomap as hm
        >>> hm.hlo.Mesh.parse("mesh['x'=2,'y'=4]").axes
        {'x': 2, 'y': 4}
        """
    @property
    def axes(self) -> dict[str, int]:
        """The size of each axis by name, the most major first."""
    @property
    def devices(self) -> tuple[int, ...]:
        """The devices in row-major order.  Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**24."""
    @property
    def iota(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """``(reshape, transpose)`` where the devices are an iota, as for a mesh without ``device_ids``; ``None``
        where they are listed.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ReplicaGroups:
    """Groups of devices that work together: a sequence of tuples of int.

    An iota or a mesh is listed on access, which raises :class:`~hlomap.errors.UnsupportedError` for more than
    2**24 devices.  Groups are equal to others, and to a tuple of tuples, that list the same; they hash, and
    pickle through their text.

    >>> import hlomap as hm
    >>> groups = hm.hlo.ReplicaGroups.parse("[2,4]<=[4,2]T(1,0)")
    >>> len(groups), groups.group_size, groups[1], groups.iota
    (2, 4, (1, 3, 5, 7), ((4, 2), (1, 0)))
    >>> hm.hlo.ReplicaGroups.parse("mesh['x'=2,'y'=2] {'x'}") == ((0, 2), (1, 3))
    True
    """

    @staticmethod
    def parse(text: str) -> ReplicaGroups:
        """Reads groups in any of the three forms.  Raises :class:`~hlomap.errors.HloSyntaxError` for other text.

        >>> import hlomap as hm
        >>> list(hm.hlo.ReplicaGroups.parse("{{0,1},{2,3}}"))
        [(0, 1), (2, 3)]
        """
    @property
    def group_size(self) -> int | None:
        """The number of devices in each group; ``None`` where groups differ, or there are none."""
    @property
    def iota(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """``(reshape, transpose)`` of ``[…]<=[…]T(…)``; ``None`` for the other forms."""
    @property
    def mesh(self) -> Mesh | None:
        """The mesh of ``mesh[…] {…}``; ``None`` for the other forms."""
    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the mesh that run within a group, the slowest first; ``()`` for the other forms."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[tuple[int, ...], ...]: ...
    def __iter__(self) -> Iterator[tuple[int, ...]]: ...
    def __contains__(self, group: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class InputOutputAlias:
    r"""A part of a module's output that shares the buffer of a part of a parameter.

    >>> import hlomap as hm
    >>> text = "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\nENTRY e { ROOT p = f32[2] parameter(0) }"
    >>> hm.parse(text).attributes["input_output_alias"]
    (InputOutputAlias(output_index=(), parameter_number=0, parameter_index=(), kind='must-alias'),)
    """

    def __new__(
        cls,
        output_index: Sequence[int],
        parameter_number: int,
        parameter_index: Sequence[int],
        kind: str = "may-alias",
    ) -> InputOutputAlias: ...
    @property
    def output_index(self) -> tuple[int, ...]:
        """The shape index of the part of the output; ``()`` is all of it."""
    @property
    def parameter_number(self) -> int:
        """The number of the parameter."""
    @property
    def parameter_index(self) -> tuple[int, ...]:
        """The shape index of the part of the parameter; ``()`` is all of it."""
    @property
    def kind(self) -> str:
        """``"may-alias"`` or ``"must-alias"``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class BufferDonor:
    r"""A part of a parameter whose buffer an output may use.

    >>> import hlomap as hm
    >>> text = "HloModule m, buffer_donor={ (0, {1}) }\nENTRY e { ROOT p = (s32[], f32[2]) parameter(0) }"
    >>> hm.parse(text).attributes["buffer_donor"]
    (BufferDonor(parameter_number=0, parameter_index=(1,)),)
    """

    def __new__(cls, parameter_number: int, parameter_index: Sequence[int]) -> BufferDonor: ...
    @property
    def parameter_number(self) -> int:
        """The number of the parameter."""
    @property
    def parameter_index(self) -> tuple[int, ...]:
        """The shape index of the part of the parameter; ``()`` is all of it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class OperandAlias:
    r"""A part of an instruction's output that shares the buffer of a part of an operand.

    >>> import hlomap as hm
    >>> text = "c = f32[2] custom-call(f32[2] p), custom_call_target=\"t\", output_to_operand_aliasing={{}: (0, {})}"
    >>> hm.parse(text)["c"].attributes["output_to_operand_aliasing"]
    (OperandAlias(output_index=(), operand=0, operand_index=()),)
    """

    def __new__(cls, output_index: Sequence[int], operand: int, operand_index: Sequence[int]) -> OperandAlias: ...
    @property
    def output_index(self) -> tuple[int, ...]:
        """The shape index of the part of the output; ``()`` is all of it."""
    @property
    def operand(self) -> int:
        """The number of the operand."""
    @property
    def operand_index(self) -> tuple[int, ...]:
        """The shape index of the part of the operand; ``()`` is all of it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ResultAccuracy:
    """The accuracy that a result must have: a mode, or tolerances.

    >>> import hlomap as hm
    >>> text = "e = f32[2] exponential(f32[2] p), result_accuracy={tolerance={rtol=0.5,ulps=2}}"
    >>> hm.parse(text)["e"].attributes["result_accuracy"]
    ResultAccuracy(mode='tolerance', atol=0.0, rtol=0.5, ulps=2)
    """

    def __new__(cls, mode: str, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> ResultAccuracy: ...
    @property
    def mode(self) -> str:
        """``"default"``, ``"highest"`` or ``"tolerance"``."""
    @property
    def atol(self) -> float:
        """The absolute tolerance."""
    @property
    def rtol(self) -> float:
        """The relative tolerance."""
    @property
    def ulps(self) -> int:
        """The tolerance in units in the last place."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class EntryLayout:
    r"""The shapes of a module's parameters and result, with the layouts that its caller sees.

    >>> import hlomap as hm
    >>> head = "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}"
    >>> module = hm.parse(head + "\nENTRY e { ROOT p = f32[2] parameter(0) }")
    >>> layout = module.attributes["entry_computation_layout"]
    >>> str(layout), str(layout.result)
    ('{(f32[2]{0})->f32[2]{0}}', 'f32[2]{0}')
    """

    @staticmethod
    def parse(text: str) -> EntryLayout:
        """Reads the layout of an entry with its braces.  Raises :class:`~hlomap.errors.HloSyntaxError` for any other
        text.

        >>> import hlomap as hm
        >>> hm.hlo.EntryLayout.parse("{(f32[2]{0}, s32[])->f32[2]{0}}").parameters
        (Shape('f32[2]{0}'), Shape('s32[]'))
        """
    @property
    def parameters(self) -> tuple[Shape, ...]:
        """The shapes of the parameters, by number."""
    @property
    def result(self) -> Shape:
        """The shape of the result."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Metadata:
    """The origin of an instruction in the program; a field that the text lacks is ``None``.

    >>> import hlomap as hm
    >>> hm.hlo.Metadata(op_name="jit(f)/dot", source_file="f.py", source_line=3)
    Metadata("jit(f)/dot", f.py:3)
    """

    def __new__(
        cls,
        op_name: str | None = None,
        op_type: str | None = None,
        source_file: str | None = None,
        source_line: int | None = None,
        source_column: int | None = None,
        function: str | None = None,
        stack_frame_id: int | None = None,
    ) -> Metadata: ...
    @property
    def op_name(self) -> str | None:
        """The name of the operation in the program that was compiled."""
    @property
    def op_type(self) -> str | None:
        """The type of that operation."""
    @property
    def source_file(self) -> str | None:
        """The source file, given inline or by the tables of stack frames."""
    @property
    def source_line(self) -> int | None:
        """The line in the source file, from 1."""
    @property
    def source_column(self) -> int | None:
        """The column in that line, from 1."""
    @property
    def function(self) -> str | None:
        """The function in which the operation occurs."""
    @property
    def stack_frame_id(self) -> int | None:
        """The id of the innermost stack frame."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Diagnostic:
    """A problem in a text, with its position.

    >>> import hlomap as hm
    >>> module = hm.parse("ENTRY e { ROOT p = f32[2] parameter(0), shardin={replicated} }")
    >>> [(d.message, d.line, d.column) for d in module.diagnostics]
    [('unknown attribute `shardin`, did you mean `sharding`?', 1, 41)]
    """

    @property
    def message(self) -> str:
        """The description of the problem, in one line."""
    @property
    def filename(self) -> str | None:
        """The name of the file or text, or ``None``."""
    @property
    def line(self) -> int:
        """The line, from 1."""
    @property
    def column(self) -> int:
        """The column in characters, from 1."""
    @property
    def found(self) -> str | None:
        """The text that was found, or ``None``."""
    @property
    def expected(self) -> str | None:
        """The text that was expected, or ``None``."""
    @property
    def snippet(self) -> str:
        """The line of the text, with a caret below the position."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def parse_text(source: str | bytes, name: str | None = None, strict: bool = False) -> list[Module]:
    """All modules of a text, parsed without the interpreter lock.

    ``source`` is HLO text as ``str`` or bytes, ``name`` its name in messages.  ``strict`` makes every diagnostic
    an error.  Raises :class:`~hlomap.errors.HloSyntaxError` with all problems of the text.
    """

def unpack_head(head: bytes, n: int, /) -> tuple[str | None, bytes]:
    """The compression of the beginning of a file, or ``None``, and the first ``n`` bytes of its content."""

def is_module_head(head: bytes, /) -> bool:
    """Whether the beginning of a file is the beginning of a proto with a module."""

def known_attributes(owner: str, /) -> list[tuple[str, str, bool, list[str]]]:
    """The attributes of an operation, or of the header of a ``module``, sorted by name.

    For each the name, the form of its value, whether it is required, and the possible values of a keyword.
    """

def known_opcodes() -> list[str]:
    """The operations that are known by name."""

@final
class Footprint:
    """The elements of one value: maps, each with the leaf of the value that its results index.

    ``crosses_devices``: the elements may be on other devices, which the maps do not distinguish.  The composition
    of two such footprints is therefore over-approximate, and a runtime variable may have another value on each
    device.
    """

    def __new__(
        cls,
        maps: Iterable[tuple[_ShapeIndex, IndexingMap]] | None = None,
        exact: bool = True,
        reason: str | None = None,
        crosses_devices: bool = False,
    ) -> Footprint: ...
    @property
    def maps(self) -> tuple[tuple[_ShapeIndex, IndexingMap], ...]:
        """The maps, each behind the leaf that its results index."""
    @property
    def exact(self) -> bool:
        """Whether these are exactly the elements; otherwise there may be more than those."""
    @property
    def reason(self) -> str | None:
        """Why they are not exact."""
    @property
    def crosses_devices(self) -> bool:
        """Whether the elements may be on other devices."""
    def __add__(self, other: Footprint, /) -> Footprint:
        """The maps of both."""
    def of(self, maps: Iterable[tuple[_ShapeIndex, IndexingMap]], /) -> Footprint:
        """Other maps with the same exactness, reason and devices."""
    def at(self, leaf: _ShapeIndex, /) -> Footprint:
        """The same maps, of a value that is the element ``leaf`` of a tuple."""
    @property
    def leaves(self) -> list[_ShapeIndex]:
        """The leaves that maps lead to, each once."""
    def for_any_runtime(self, reason: str, /) -> Footprint:
        """The elements for all values of the runtime variables.  They are more than those that are read, for this
        ``reason``.
        """
    def __radd__(self, other: Footprint, /) -> Footprint: ...
    def simplified(self) -> Footprint:
        """The same maps, simplified; dimensions of size 1 remain variables, unused ranges do not."""

_Variables: TypeAlias = Iterable[int | tuple[int, int]]

def _single_map(
    dims: _Variables | Shape,
    results: Iterable[_ExprLike],
    *,
    ranges: _Variables | Shape | None = None,
    runtime: Iterable[Variable | tuple[int, int, int, Sequence[_ExprLike]]] | None = None,
    constraints: Iterable[tuple[_ExprLike, int, int]] | None = None,
) -> Footprint:
    """A footprint of one map to an array; without maps if the bounds of a variable or constraint are empty.

    Variables are given as their sizes or bounds, those of an array also as its shape; a runtime variable as its bounds,
    source and index.
    """

def _outside(
    dims: _Variables | Shape,
    results: Iterable[_ExprLike],
    conditions: Sequence[tuple[_ExprLike, int, int, int, int]],
    *,
    ranges: _Variables | Shape | None = None,
    runtime: Iterable[Variable | tuple[int, int, int, Sequence[_ExprLike]]] | None = None,
) -> Footprint:
    """The points at which conditions do not all hold, in disjoint pieces, each mapped to ``results``.

    A condition is an expression, its bounds where it holds, and its bounds in any case.  Variables are given as to
    ``_single_map``.
    """

def _identity_map(sizes: _Variables | Shape, /) -> Footprint:
    """Each element to the element with the same index; ``sizes`` are those of the array, or its shape."""

def _map_to_all(sizes: _Variables | Shape, target: _Variables | Shape, /) -> Footprint:
    """Every element to every element of the target; both are given by their sizes or shapes."""

def _delinearize(variables: Sequence[_ExprLike], source: Sequence[int], target: Sequence[int], /) -> list[Expr]:
    """The index into an array of sizes ``target`` with the linear index that ``variables`` have in one of sizes
    ``source``.
    """

@final
class InstructionIndexing:
    """The indexing of one instruction, as its rule gives it: a part for each operand, or for each output.

    A ``direction`` of -1 goes from the array ``index`` of the output to the operands, k from the array ``index``
    of operand k to the outputs.  ``result`` has the parts in order, or is a mapping from their numbers.  Parts of
    which nothing is read, and those of values without elements, are left out.  Maps ``on_devices`` have two more
    dimensions and results, the group and the position.  Raises :class:`~hlomap.errors.ShapeError` for a map that
    does not fit the shapes.
    """

    def __new__(
        cls,
        instruction: Instruction,
        index: _ShapeIndex,
        direction: int,
        result: _rule.RuleResult,
        /,
        *,
        on_devices: bool = False,
    ) -> InstructionIndexing: ...
    @staticmethod
    def unknown(instruction: Instruction, index: _ShapeIndex, direction: int, reason: str, /) -> InstructionIndexing:
        """The indexing of which all parts are unknown for one reason."""
    @property
    def parts(self) -> dict[int, _rule.OperandIndexing]:
        """The parts by number, as rules give them; nothing is read of those that are missing."""
    @property
    def has_runtime(self) -> bool:
        """Whether a map has a runtime variable."""
    def __len__(self) -> int: ...

@final
class Propagation:
    """Composes the indexing rules of ``rules`` through one module; results are cached as long as the object lives.

    A ``direction`` of -1 goes from the output to operands or parameters, k from operand or parameter k to the
    outputs.
    """

    def __new__(cls, module: Module, /) -> Propagation: ...
    def on_devices(self, runs: Sequence[tuple[tuple[int, int], int]], each_once: bool, /) -> Propagation:
        """A propagation whose rules give maps with a group and a position, for a table of device groups.

        ``runs`` are the first and the last of neighbouring groups of one size, with that size; ``each_once`` is
        whether every device has one group and position.
        """
    def query(
        self, rules: RuleProvider, subject: Instruction | Computation, direction: int, indices: Sequence[_ShapeIndex], /
    ) -> list[list[_Record]]:
        """The indexing of an instruction or computation for each array ``indices`` of its output, or of an operand
        or parameter: a record for each operand, parameter or output of which anything is read.
        """
    def within(
        self, rules: RuleProvider, computation: int, indices: Sequence[_ShapeIndex], n_maps: int, /
    ) -> list[list[_Record]]:
        """The indexing of a computation for each array ``indices`` of its root, with all maps, as :meth:`query`
        gives it; only for the first ones where all of them take more than ``n_maps`` maps on the way.
        """
    def together(
        self, rules: RuleProvider, computation: int, indices: Sequence[_ShapeIndex], as_one: bool, /
    ) -> list[tuple[int, list[tuple[IndexingMap, list[int]]], _Reasons, _Reasons]] | None:
        """What arrays ``indices`` of a computation's root depend on, all in one pass, or, with ``as_one``, which
        elements all of them together do: a record for each parameter of which anything is read, with its maps,
        the reasons why starts may need any of its elements, and those why their maps may have too much; each with
        the numbers of its starts. None where elements cross devices, or where an instruction has operands without
        names.
        """
    def backward(
        self,
        rules: RuleProvider,
        start: int,
        indices: Sequence[_ShapeIndex],
        inside: Sequence[int],
        root: int | None,
        ends: Sequence[int],
        elements_alone: bool = False,
        /,
    ) -> list[_Record]:
        """The maps from arrays of ``start`` to every value that it is made of, users first: a record for each value.

        The propagation goes through the instructions with the numbers ``inside``, and a call ``root`` is entered
        in any case.  There is a record for each of ``ends``, whether it is reached or not.  With
        ``elements_alone`` only the elements count and not how often each is read: maps then have fewer ranges.
        """
    def tiles(
        self,
        rules: RuleProvider,
        start: int,
        indices: Sequence[_ShapeIndex],
        tiled: int,
        inside: Sequence[int],
        root: int | None,
        ends: Sequence[int],
        /,
    ) -> tuple[list[int], list[tuple[int, int, int]], list[IndexingMap | None], list[_Record]]:
        """The tiling parameters of array ``indices[tiled]`` of ``start``, and the maps from them to each of the
        arrays and to each of ``ends``: the sizes of the parameters; of those after the array's dimensions the
        number of the instruction whose rule has the range, its place there and its least value; a map or None for
        each array; a record for each of ``ends``.  A map has the parameters that it uses, by name.  The region is
        that of :meth:`backward`.
        """
    def forward(
        self, rules: RuleProvider, start: int, indices: Sequence[_ShapeIndex], elements_alone: bool = False, /
    ) -> list[_Record]:
        """The maps from arrays of ``start`` to every value in its computation that is made of it, operands first: a
        record for each value.  ``elements_alone`` is that of :meth:`backward`.
        """
    def call(
        self, rules: RuleProvider, caller: int, computation: int, index: _ShapeIndex, direction: int, /
    ) -> InstructionIndexing:
        """The indexing of a computation as the instruction with the number ``caller`` sees it: parameters are
        operands.
        """
    def iteration(self, rules: RuleProvider, body: int, index: _ShapeIndex, direction: int, /) -> InstructionIndexing:
        """The indexing of one iteration of a loop that runs any number of times: runtime variables have any of their
        values, and there are few maps to an array.
        """
    def rows(self, rules: RuleProvider, /) -> Rows:
        """The rows of the table of the module."""

@final
class TilePlan:
    """What tiles of an output read and write: ``sizes`` are those of the parameters, the first ``n_parallel`` of
    which are the dimensions of array number ``tiled``.  An array is a map from some of the parameters, or None
    where nothing is known, its shape, whether the map is exact, and whether it is written.  Where forms do not
    tell, up to ``few_points`` points are enumerated.
    """

    def __new__(
        cls,
        sizes: Sequence[int],
        n_parallel: int,
        arrays: Sequence[tuple[IndexingMap | None, Shape, bool, bool]],
        tiled: int,
        /,
        few_points: int = ...,
    ) -> TilePlan: ...
    def evaluate(
        self,
        candidates: npt.NDArray[np.int64],
        limits: tuple[int, bool, int, int, int, Sequence[int], int, bool],
        device: tuple[int, int, int, int, int],
        stages: int,
        columns: Sequence[str],
        threads: int,
        /,
    ) -> dict[str, npt.NDArray[Any]]:
        """The named columns of the rows of ``candidates``; those of reads have one value for each read.

        ``limits`` and ``device`` have the fields of `Limits` and `DeviceCounts` in order.
        """
    def tile(
        self, number: int, candidate: Sequence[int], tile: Sequence[int], runtime: Sequence[int], /
    ) -> list[tuple[int, int, int, int, int]] | None:
        """What one tile reads of array ``number``: offset, size, stride, lower and upper bound of every dimension,
        or None where it reads nothing or nothing is known.
        """
    def symbolic(
        self, number: int, /
    ) -> tuple[
        list[tuple[tuple[Expr, Expr, Expr, Expr, Expr], bool, bool]],
        list[tuple[str, tuple[tuple[Expr, int, int], ...]]],
    ]:
        """The tile of array ``number`` as expressions over the numbers of a tile and its sizes, which are called
        ``tid_tK`` and ``ts_tK`` for parameter K: for every result offset, size, stride, lower and upper bound,
        whether it is reversed and whether it is exact; and the clauses: a reason and alternatives, each an
        expression with the least and greatest value it may have.
        """
    @property
    def n_reads(self) -> int:
        """How many of the arrays are read."""

def _tile_reasons() -> list[str]:
    """The names of the reasons why a candidate is not legal.  The number of a reason is its place, plus 1, plus the
    number of reasons for each array before the one it is about; the reasons of a whole candidate come first.
    """

def _over_all_parameters(map: IndexingMap, sizes: Sequence[int], /) -> IndexingMap:
    """The map over all parameters, of which there are ``sizes``, instead of those that it uses."""

@final
class Rows:
    """The rows of the table of a module.  Instructions share equal cells; a column is built when it is asked for."""

    def __len__(self) -> int: ...
    def column(self, name: str, /) -> list[Any]:
        """The values of a column.  Raises :class:`KeyError` for an unknown name."""
    def add_arithmetic(
        self, arithmetic: Callable[[Instruction], tuple[int | None, int | None, float | None]], /
    ) -> None:
        """Fills the columns about arithmetic, once: ``arithmetic(instruction)`` returns flops, transcendentals and
        how often they are evaluated, for one of the instructions with equal signatures.
        """
    def sharding_columns(self, table: Table, /) -> dict[str, list[Any]] | None:
        """The columns about shardings of a table that has these rows, by name; ``None`` where no row has a sharding."""
    def problems(self) -> tuple[int, dict[tuple[str, str], int]]:
        """The number of rows with an error, and that of rows whose maps are unknown, by opcode and reason."""

@final
class _RowBatch:
    """The rows of any number of tables, for one Arrow record batch."""

    def __new__(cls) -> _RowBatch: ...
    def __len__(self) -> int: ...
    @property
    def n_bytes(self) -> int:
        """The bytes of all columns so far."""
    def append(self, tables: Sequence[Rows], /) -> None:
        """Appends the rows of all tables, or none where an exception is raised.

        Raises :class:`~hlomap.errors.UnsupportedError` where the texts exceed the 32-bit offsets of a column.
        """
    def take(self) -> npt.NDArray[np.uint8]:
        """All rows as one message of Arrow's IPC format, a record batch, in an array of bytes; none are left."""

_ShapeIndex: TypeAlias = tuple[int, ...]
_Use: TypeAlias = tuple[Instruction, int]
# Number, reason if unknown, exact, reason if not exact, crosses devices, maps, the uses of each map.
_Reasons: TypeAlias = list[tuple[str | None, list[int]]]
_Record: TypeAlias = tuple[int, str | None, bool, str | None, bool, list[IndexingMap], list[list[_Use]] | None]

def _closure(
    shape: Shape,
    start: _ShapeIndex,
    step: Callable[[_ShapeIndex], Footprint | Unknown],
    whole: Sequence[_ShapeIndex],
    crosses_devices: bool,
    reason: str,
    /,
) -> Footprint | Unknown:
    """The maps from one array of a value to all its arrays after any number of iterations of a loop, and to every
    element of the arrays ``whole``: a footprint that is not exact, for this ``reason``.

    ``step`` gives what one iteration mentions from an array, without runtime variables.  The result is unknown where
    one of them is.  ``crosses_devices`` is that of what has led to ``whole``."""

_Window: TypeAlias = tuple[int, int, int, int, Sequence[tuple[int, int, int]]]

@final
class _LoopMaps:
    """The maps through all iterations of a loop in one direction; ``body`` is a ``_Body`` of ``ops/_indexing/loops``.

    ``step(leaf)`` gives the maps of one iteration, each as ``(leaf, map)``, why they may contain too much, and whether
    they cross devices, or what is unknown.  ``offset(source, element, lower, upper)`` gives pieces ``(expr,
    condition)`` over the iteration, the number of another source, why it depends on data, or None if it stays the
    same; ``window(leaf)`` gives ``(dim, start, step, size, fixed)`` or None."""

    def __new__(cls, shape: Shape, n: int, backward: bool, /) -> _LoopMaps: ...
    def maps(
        self, body: Any, leaf: _ShapeIndex, anywhere: bool, /
    ) -> tuple[tuple[tuple[_ShapeIndex, IndexingMap], ...], str | None, bool] | Unknown:
        """The maps from a leaf, each with the leaf that it leads to, why they are over-approximate, and whether they
        cross devices; or what is unknown.  ``anywhere``: after any number of iterations."""

    def group(self, body: Any, leaf: _ShapeIndex, /) -> tuple[str, str | None, _Window | None] | Unknown:
        """The kind of the group of a leaf, why it is over-approximate, and its window; or what is unknown."""

    def edges(self, leaf: _ShapeIndex, /) -> list[tuple[_ShapeIndex, bool, str | None]]:
        """The edges of a leaf whose group is known: where each leads, whether each iteration reaches other elements,
        and why it may contain too much."""

    def moves(self, leaf: _ShapeIndex, /) -> list[int | None]:
        """By how much one iteration moves each dimension of a leaf whose group is known; None where that is not one
        number."""

def _count_iterations(
    condition: Computation, body: Computation, initial: Sequence[tuple[_ShapeIndex, int]], /
) -> int | str:
    """The number of iterations of a loop whose state begins with some known numbers, or why it is not known."""

def _n_steps() -> int:
    """The number of steps of long loops that this thread has taken: work, counted the same on every machine."""

def _reads(
    maps: Sequence[IndexingMap], exact: bool, shape: Shape, /
) -> tuple[list[str], int, int, int | None, int, int | None, int | None]:
    """The reads of an array by a union of maps, which is ``exact`` or not: the texts of the maps, their ``divmod``
    nodes, the bounds of touched and of distinct elements, and the number of bytes."""

def _read_profile(
    data: bytes, name: str | None, /
) -> tuple[
    list[tuple[str, list[tuple[str, int | None, str, int, int, int]], tuple[int, int], tuple[int, int]]],
    list[tuple[str, int | None, bytes]],
]:
    """The planes of a profile: each name, its operations, and the number and picoseconds of the events of none and of
    those on lines that repeat others; and the modules in it, by name and program id.

    An operation has the name of its module, its program id, its name, its calls, its picoseconds and their median.
    Raises :class:`~hlomap.errors.HloSyntaxError` for bytes that are not a profile.
    """

def _extent(parts: Sequence[Shape], /) -> tuple[int | None, int | None]:
    """Upper bounds of the number of elements in values, and of their bytes; None where there is no bound."""

def _variable(
    name: str | None,
    default_name: str,
    range: tuple[int, int],
    source: int | None,
    index: Sequence[_ExprLike],
    supplier: Instruction | None,
    /,
) -> Variable:
    """A variable from its fields; unpickling calls it."""

def _row_columns() -> list[tuple[str, str, str]]:
    """The name, the kind and the description of every column of a table, in order."""

def _count_windows(maps: Sequence[IndexingMap], /) -> tuple[Count, Count] | None:
    """Bounds on the points and on the distinct images of maps together, attained for some runtime values; None unless
    domains and images are boxes whose edges runtime values move."""

def _count(lower: int, upper: int, /) -> Count:
    """A count from its fields; unpickling calls it."""

def _cost(divmod: int, nodes: int, /) -> Cost:
    """A cost from its fields; unpickling calls it."""

def _image_many(maps: Sequence[tuple[IndexingMap, Sequence[tuple[int, int]]]], /) -> list[IndexingMap]:
    """For each map the one whose image is that of the map over a box of its first dims, which become ranges."""

def _overlap(first: Sequence[IndexingMap], second: Sequence[IndexingMap], /) -> _SetAnswer:
    """Whether the union of the images of the first maps meets that of the second ones; the witness is an element of
    both.
    """

def _is_injective(map: IndexingMap, /) -> _SetAnswer:
    """Whether different points of a map reach different elements; the witness is an element that two points reach."""

def _eliminate_ranges(maps: Sequence[IndexingMap], /) -> list[IndexingMap]:
    """For each map one with the same image at every point, without the ranges that others stand for."""

def _contains(outer: IndexingMap, inner: IndexingMap, /) -> bool | None:
    """Whether one map relates each pair that another one relates; ``None`` where that is not decided."""

def _coalesce(maps: Sequence[IndexingMap], /) -> list[tuple[IndexingMap, list[int]]]:
    """Fewer maps that relate the same pairs, each with the numbers of the maps that it stands for."""

def _map(
    text: str, index: tuple[int, ...], usage: tuple[Instruction, int] | None, suppliers: dict[int, Instruction], /
) -> IndexingMap:
    """A map from its text and its origin in a program; unpickling calls it."""

def _module(
    text: str,
    filename: str | None,
    position: tuple[int, int],
    ids: tuple[Sequence[int], Sequence[int], bytes] | None,
    /,
) -> Module:
    """The module of a text that begins at a position of a longer one, with the ids of a proto; unpickling calls it."""

def _computation(module: Module, number: int, /) -> Computation:
    """The computation with this number; unpickling calls it."""

def _instruction(module: Module, number: int, /) -> Instruction:
    """The instruction with this number; unpickling calls it."""

def _diagnostic(
    message: str,
    filename: str | None,
    line: int,
    column: int,
    found: str | None,
    expected: str | None,
    snippet: str,
    /,
) -> Diagnostic:
    """A diagnostic from its fields; unpickling calls it."""
