"""Python methods of compiled classes, and of the classes in ``attached``: :func:`attach` adds them when hlomap is
imported.

Each method is below the name of its class.  Its dependencies are imported on the first call, so that importing hlomap
stays quick.  The stub ``rust/bindings/_core.pyi`` has the signatures too; the build adds the docstrings to it.
"""
# mypy: disable-error-code="misc"
# `self` is of the compiled class.

from __future__ import annotations

from . import _core
from .base import attached
from .base.lazy import Lazy

TYPE_CHECKING = False  # `typing` takes longer to import than the compiled module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from . import pictures
    from .analysis import executions
    from .analysis.table import Table
    from .base.answers import Answer, Unknown
    from .hlo.dump_directory import DumpDirectory, DumpedModule
    from .interop import isl, jax as interop_jax, mlir, smtlib, sympy
    from .kernels import trace
    from .maps import image, map_set, simplification
    from .maps.map_set import MapSet
    from .maps.set_questions import CommonElement, MissingElement
    from .pictures import arrays
    from .pictures.picture import Picture
    from .shardings import columns, device_maps, specs
    from .words import equality, history
else:
    executions, history = Lazy("hlomap.analysis.executions"), Lazy("hlomap.words.history")
    equality = Lazy("hlomap.words.equality")
    isl, mlir = Lazy("hlomap.interop.isl"), Lazy("hlomap.interop.mlir")
    smtlib, sympy = Lazy("hlomap.interop.smtlib"), Lazy("hlomap.interop.sympy")
    image, map_set = Lazy("hlomap.maps.image"), Lazy("hlomap.maps.map_set")
    simplification, trace = Lazy("hlomap.maps.simplification"), Lazy("hlomap.kernels.trace")
    arrays, pictures = Lazy("hlomap.pictures.arrays"), Lazy("hlomap.pictures")
    columns, device_maps = Lazy("hlomap.shardings.columns"), Lazy("hlomap.shardings.device_maps")
    specs, interop_jax = Lazy("hlomap.shardings.specs"), Lazy("hlomap.interop.jax")


def _html(self: Any) -> str | None:
    return pictures.notebook_html(self)


def _svg(self: Any) -> str | None:
    return pictures.notebook_svg(self)


class Expr:
    def __array_ufunc__(self: _core.Expr, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
        """Integer functions of NumPy, such as ``np.minimum``, on expressions."""
        return trace.apply_ufunc(ufunc, method, inputs, options)


class IndexingMap:
    _repr_svg_ = _svg

    @staticmethod
    def from_function(
        f: Callable[..., Any],
        dims: int | Sequence[Any],
        /,
        *,
        ranges: Sequence[Any] = (),
    ) -> _core.IndexingMap:
        """The map of a Python function, which is called once with an :class:`Expr` for each dim and then each range.

        ``dims`` and ``ranges`` are variables as for the constructor; a single int is a grid of one dim.  The function
        returns an int or an :class:`Expr`, or a tuple of them, and computes with ``+``, ``-``, ``*``, ``//``, ``%``,
        :meth:`Expr.minimum` and :meth:`Expr.maximum`, or the functions of NumPy for them.  A function that needs
        ``jax.numpy`` or ``jax.lax`` is traced by JAX; a choice by ``jnp.where`` or ``jax.lax.select`` becomes
        arithmetic.  A Python branch cannot be followed: make a map for each case, with :meth:`restrict`.

        Raises ``TypeError`` for a function that does something else, takes another number of arguments, or returns
        something else.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.from_function(lambda i, j: (i, 0), [4, 8]))
        (d0, d1) -> (d0, 0), domain: d0 in [0, 3], d1 in [0, 7]
        >>> m = hm.IndexingMap.from_function(lambda pid, k: (pid // 4 * 16 + k, pid % 4), 64, ranges=[16])
        >>> print(m)
        (d0)[s0] -> ((d0 floordiv 4) * 16 + s0, d0 mod 4), domain: d0 in [0, 63], s0 in [0, 15]
        """
        return trace.map_from_function(f, dims, ranges)

    def simplify(
        self: _core.IndexingMap,
        /,
        *,
        keep_point_dims: bool = False,
        drop_unused: bool = False,
        rescale: bool = False,
        trace: bool = False,
    ) -> _core.IndexingMap | simplification.SimplifyTrace:
        """An equivalent map in normal form: it has the same image at every point of the domain.

        Variables with a single value become constants; ``keep_point_dims`` keeps such dims.  ``drop_unused`` removes
        unused range and runtime variables, and range variables that an equality expresses by other variables, and
        renumbers the rest.  ``rescale`` makes a range variable count in steps of the modulus if a constraint fixes its
        residue: the map reaches the same elements for other values of that variable.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.parse("(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]").simplify())
        (d0) -> (d0), domain: d0 in [0, 3]
        >>> m = hm.IndexingMap.parse("()[s0] -> (s0 + 1), domain: s0 in [0, 9], s0 mod 4 in [3, 3]")
        >>> print(m.simplify(rescale=True))
        ()[s0] -> (s0 * 4 + 4), domain: s0 in [0, 1]

        With ``trace=True`` the result is a :class:`~hlomap.results.SimplifyTrace`: the map before and after, and the
        steps in order.  A step rewrites a part of the map without changing its value at any point of the domain.
        Steps of alternatives that the simplifier tried and discarded are included.  Tracing disables the simplifier's
        shortcuts, which do not affect the result.  ``SIMPLIFY.md`` of the Rust crate ``quasiaffine`` describes the
        rules, their order, and why they terminate.

        >>> m = hm.IndexingMap.parse("(d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]")
        >>> print(m.simplify(trace=True))
        before  (d0, d1) -> ((d0 * 12 + d1) floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
        after   (d0, d1) -> (d0 * 3 + d1 floordiv 4), domain: d0 in [0, 7], d1 in [0, 11]
           1. multiples: (n*k*x + y) floordiv n = k*x + y floordiv n
                  (d0 * 12 + d1) floordiv 4
               => d0 * 3 + d1 floordiv 4
        """
        found = self._simplify(keep_point_dims, drop_unused, rescale, trace)
        if found is not None:
            return found
        return simplification.trace(self, keep_point_dims, drop_unused, rescale)

    def then(self: _core.IndexingMap, second: _core.IndexingMap | MapSet, /) -> _core.IndexingMap | MapSet:
        """The composition: first this map, then ``second``; not simplified.  With a set the result is a simplified set.

        Ranges and runtime variables of this map come before those of the second; runtime variables keep their
        sources. Raises :class:`~hlomap.errors.MapError` if the number of results differs from the second map's
        number of dims.

        >>> import hlomap as hm
        >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
        >>> pair = hm.IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 9], s0 in [0, 1]")
        >>> print(shift.then(pair).simplify())
        (d0)[s0] -> (d0 + 1, s0), domain: d0 in [0, 3], s0 in [0, 1]
        """
        if isinstance(second, _core.IndexingMap):
            return self._then(second)
        return map_set.MapSet([self]).then(map_set.as_map_set(second, "IndexingMap.then", "second"))

    def restrict(self: _core.IndexingMap, dims: Mapping[int, image.Interval], /) -> _core.IndexingMap:
        """The map for the points whose indices lie in these intervals, a mapping from dimension to interval.

        Intervals are as for :meth:`image`.  Raises :class:`~hlomap.errors.ShapeError` for a
        dimension that does not exist.

        >>> import hlomap as hm
        >>> print(hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]").restrict({1: (2, 4)}))
        (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
        """
        return image.restrict_map(self, dims)

    def __or__(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> MapSet:
        """The set of this map and the maps of ``other``: a :class:`~hlomap.MapSet`."""
        return map_set.MapSet([self]).__or__(other)

    def __and__(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> MapSet:
        """The pairs (point, element) that both have, as by :meth:`MapSet.__and__`."""
        return map_set.MapSet([self]).__and__(other)

    def __sub__(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> MapSet:
        """The pairs (point, element) of this map that ``other`` does not have, as by :meth:`MapSet.__sub__`."""
        return map_set.MapSet([self]).__sub__(other)

    def covers(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> Answer[MissingElement]:
        """Whether this map has all pairs (point, element) of ``other``, as :meth:`MapSet.covers`: a
        :class:`~hlomap.Answer`.

        >>> import hlomap as hm
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> row.covers(hm.IndexingMap.identity([5]))
        Answer(True)
        """
        return map_set.MapSet([self]).covers(map_set.as_map_set(other, "IndexingMap.covers", "other"))

    def overlap(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> Answer[CommonElement]:
        """Whether some element is in the images of both, as :meth:`MapSet.overlap`: a :class:`~hlomap.Answer`.

        >>> import hlomap as hm
        >>> even, odd = (hm.IndexingMap([10], [hm.Expr.dim(0) * 2 + i]) for i in (0, 1))
        >>> even.overlap(odd)
        Answer(False)
        """
        return map_set.MapSet([self]).overlap(map_set.as_map_set(other, "IndexingMap.overlap", "other"))

    def image(self: _core.IndexingMap, /, box: image.Box | None = None) -> MapSet:
        """The elements that the map reaches, as a :class:`~hlomap.MapSet` of maps without dims; with ``box`` only from
        points in that box of its dims.

        ``box`` has an item for each dim: an int, inclusive bounds ``(lower, upper)``, a ``range`` or ``slice`` with
        step 1, or ``None`` for all values; the index of one point gives the elements that it reaches.  Values outside
        the domain reach nothing.  The image of an undefined map is the unknown set.

        Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for a box of another rank or with other steps, and
        ``TypeError`` for anything but a sequence of intervals.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]")
        >>> print(m.image())
        ()[s0] -> (s0), domain: s0 in [0, 31]
        >>> print(m.image([(0, 2), range(4)]))
        ()[s0, s1] -> (s0 * 8 + s1), domain: s0 in [0, 2], s1 in [0, 3]
        """
        return map_set.MapSet([self])._image(image.read_box(box, "IndexingMap.image"), 0)

    def is_injective(self: _core.IndexingMap, /) -> Answer[CommonElement]:
        """Whether different points reach different elements: a :class:`~hlomap.Answer`.

        A point is a value for each dim *and* each range, so an injective map reaches as many elements as its domain
        has points.  The answer holds for all values of the runtime variables.  The witness of ``False`` is an element
        with two points that reach it.

        >>> import hlomap as hm
        >>> m = hm.IndexingMap.parse("(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]")
        >>> found = m.is_injective()
        >>> assert found.witness is not None
        >>> found.value, found.witness.first.dims, found.witness.second.dims
        (False, (0,), (1,))
        """
        return map_set.MapSet([self]).is_injective()

    def equivalent(self: _core.IndexingMap, other: MapSet | _core.IndexingMap, /) -> Answer[tuple[int, ...]]:
        """Whether ``other`` is the same function: at each point it has the same image, the set over all ranges.

        A witness is a point whose images differ: values of the dims, then of the runtime variables.  A set is compared
        as by :meth:`MapSet.equivalent`.  Raises :class:`~hlomap.errors.ShapeError` if the numbers of dims or results
        differ.

        >>> import hlomap as hm
        >>> a = hm.IndexingMap.parse("(d0) -> ((d0 * 6) mod 4), domain: d0 in [0, 9]")
        >>> a.equivalent(hm.IndexingMap.parse("(d0) -> (d0 mod 2 * 2), domain: d0 in [0, 9]")).value
        True
        """
        found = self._equivalent(other) if isinstance(other, _core.IndexingMap) else None
        if found is not None:
            return found
        return map_set.MapSet([self]).equivalent(map_set.as_map_set(other, "IndexingMap.equivalent", "other"))

    def to_isl(self: _core.IndexingMap, /) -> str:
        """The map as a relation in the notation of isl, from dims to results; ``islpy.Map`` takes the text.

        Runtime variables are parameters.  A range variable becomes an output name or is existentially quantified.
        Names that are keywords of isl get an underscore; the sources of runtime variables are lost.

        Raises :class:`~hlomap.errors.UnsupportedError` for an expression that is not quasi-affine, a product of
        variables or a division by one, and :class:`~hlomap.errors.MapError` for an undefined map.  The isl
        manual describes the notation (https://libisl.sourceforge.io/manual.pdf).

        >>> import hlomap as hm
        >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0), hm.Expr.dim(0) % 8], ranges=[3])
        >>> print(m.to_isl())
        { [d0] -> [o0, (d0 mod 8)] : 0 <= d0 <= 31 and exists (s0: 0 <= s0 <= 2 and o0 = floor(d0/8) + s0) }
        """
        return isl.to_isl(self)

    def to_sympy(self: _core.IndexingMap, /) -> sympy.SympyMap:
        """The map as SymPy objects, a :class:`~hlomap.interop.sympy.SympyMap`: symbols, results and conditions.

        Raises :class:`~hlomap.errors.UnsupportedError` if sympy is not installed (extra ``sympy``), and
        :class:`~hlomap.errors.MapError` for an undefined map.

        >>> import hlomap as hm
        >>> found = hm.IndexingMap([32], [hm.Expr.dim(0) // 8, hm.Expr.dim(0) % 8]).to_sympy()
        >>> found.results, found.conditions
        ((floor(d0/8), Mod(d0, 8)), (d0 >= 0, d0 <= 31))
        """
        return sympy.to_sympy(self)

    def to_mlir(self: _core.IndexingMap, /, part: str = "map") -> str:
        """The results as MLIR's ``affine_map<...>``, or with ``part="domain"`` the domain as ``affine_set<...>``.

        Range variables are symbols and runtime variables the symbols after them, as in XLA.  :meth:`parse` reads the
        map back, given the variables.  MLIR computes in 64 bits, and overflow is not checked.

        Raises :class:`~hlomap.errors.UnsupportedError` for ``min``, ``max``, products of dims and divisions by dims,
        :class:`~hlomap.errors.SizeError` for a condition whose constant does not fit in 64 bits, and
        :class:`~hlomap.errors.MapError` for an undefined map.  MLIR's affine dialect describes the
        notation (https://mlir.llvm.org/docs/Dialects/Affine).

        >>> import hlomap as hm
        >>> m = hm.IndexingMap([32], [hm.Expr.dim(0) // 8 + hm.Expr.range(0)], ranges=[3])
        >>> m.to_mlir()
        'affine_map<(d0)[s0] -> (d0 floordiv 8 + s0)>'
        >>> m.to_mlir("domain")
        'affine_set<(d0)[s0] : (d0 >= 0, -d0 + 31 >= 0, s0 >= 0, -s0 + 2 >= 0)>'
        >>> hm.IndexingMap.parse(m.to_mlir(), dims=m.dims, ranges=m.ranges) == m
        True
        """
        return mlir.to_mlir(self, part)

    def to_smtlib(self: _core.IndexingMap, /) -> str:
        """The map as an SMT-LIB 2 script, which declares the variables and the results ``r0``, ``r1``, …, and asserts
        the domain and the value of each result.

        Append assertions and ``(check-sat)``; ``z3.Solver().from_string`` takes the text.  The logic is ``QF_LIA``, or
        ``QF_NIA`` if the map divides or multiplies variables.  Names that SMT-LIB reserves get an underscore.

        Raises :class:`~hlomap.errors.MapError` for an undefined map.  ``div`` and ``mod`` are those of the theory of
        integers (https://smt-lib.org/theories-Ints.shtml).

        >>> import hlomap as hm
        >>> print(hm.IndexingMap([32], [hm.Expr.dim(0) // 8]).to_smtlib())
        (set-logic QF_NIA)
        (declare-const d0 Int)
        (declare-const r0 Int)
        (assert (<= 0 d0 31))
        (assert (= r0 (div d0 8)))
        """
        return smtlib.to_smtlib(self)


class Layout:
    _repr_svg_ = _svg

    def draw(self: _core.Layout, /, dimensions: Sequence[int] | None = None) -> Picture:
        """A picture of an array with this layout and these ``dimensions``; by default an array of a few tiles.

        See :meth:`Shape.draw`, which raises the same errors.
        """
        return arrays.draw_layout(self, None if dimensions is None else _core.Layout._sizes(dimensions))


class Shape:
    _repr_svg_ = _svg

    def draw(self: _core.Shape, /) -> Picture:
        """A picture of the order of elements in memory: the array with its tiles, and memory with padding marked.

        ``str(picture)`` is a form for the terminal, ``.svg`` the image; large arrays are shown in part.  Raises
        :class:`~hlomap.errors.ShapeError` for everything but an array with a valid layout and bounded dimensions.

        >>> import hlomap as hm
        >>> hm.Shape.parse("f32[2,3]{1,0:T(1,2)}").draw().svg[:4]
        '<svg'
        """
        return arrays.draw_shape(self)


class Module:
    _repr_html_ = _html


class Instruction:
    _repr_html_ = _html


class Computation:
    @property
    def times(self: _core.Computation) -> int | Unknown:
        """The number of runs of the computation in one run of the module's entry: trip counts times calls.

        The number is 1 for the entry and 0 for a computation that it does not reach.  A branch counts as often as its
        conditional runs, which is an upper bound.  The result is :class:`~hlomap.Unknown`, with the reason, if a loop
        around the computation has an unknown trip count, or an operation such as reduce applies it to elements.

        >>> import hlomap as hm
        >>> module = hm.parse('''
        ... body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
        ...        one = s32[] constant(1)  next = s32[] add(i, one)  x = f32[8] get-tuple-element(s), index=1
        ...        ROOT t = (s32[], f32[8]) tuple(next, x) }
        ... below { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0
        ...         n = s32[] constant(12)  ROOT less = pred[] compare(i, n), direction=LT }
        ... ENTRY e { zero = s32[] constant(0)  x = f32[8] parameter(0)  s = (s32[], f32[8]) tuple(zero, x)
        ...           ROOT loop = (s32[], f32[8]) while(s), condition=below, body=body }''')
        >>> for computation in module.computations:
        ...     print(computation.name, [caller.name for caller in computation.callers], computation.times)
        body ['loop'] 12
        below ['loop'] 13
        e [] 1
        """
        return executions.times_of(self)


class Sharding:
    @staticmethod
    def parse(
        text: str, mesh: Mapping[str, int] | _core.Mesh | None = None, *, rank: int | None = None
    ) -> _core.Sharding:
        """Reads the text of a sharding: of HLO, in braces, or of a ``jax.sharding.PartitionSpec``, whose axes need the
        sizes in ``mesh``.

        ``mesh`` and ``rank``, the number of dimensions of the array, are as for :meth:`from_spec`; HLO text needs none.

        Raises :class:`~hlomap.errors.HloSyntaxError` for text that is neither,
        :class:`~hlomap.errors.ShapeError` for an axis that does not exist or is used twice, and ``TypeError`` for a
        spec without a mesh.

        >>> import hlomap as hm
        >>> hm.hlo.Sharding.parse("{replicated}").kind
        'replicated'
        >>> hm.hlo.Sharding.parse("P('data', None)", {"data": 2, "model": 4})
        Sharding('{mesh['data'=2,'model'=4], [{'data'}, {}]}')
        """
        if isinstance(text, str) and not text.lstrip().startswith("{") and specs.is_spec(text):
            return specs.sharding_of_spec(text, mesh, rank, "hlo.Sharding.parse")
        return _core.Sharding._read(text)

    @staticmethod
    def from_spec(
        spec: Any, mesh: Mapping[str, int] | _core.Mesh | None = None, *, rank: int | None = None
    ) -> _core.Sharding:
        """The sharding that a ``jax.sharding.PartitionSpec`` stands for on a mesh with devices in row-major order.

        ``spec`` is a ``PartitionSpec``, its text or its entries; or a ``jax.sharding.NamedSharding``, which has a mesh.
        ``rank`` is the number of dimensions of the array, by default that of the entries.

        Raises :class:`~hlomap.errors.ShapeError` for an axis that does not exist or is used twice, and
        :class:`~hlomap.errors.UnsupportedError` for devices in another order.

        >>> import hlomap as hm
        >>> hm.hlo.Sharding.from_spec("P('data', None)", {"data": 2, "model": 4})
        Sharding('{mesh['data'=2,'model'=4], [{'data'}, {}]}')
        """
        return specs.sharding_of_spec(spec, mesh, rank, "hlo.Sharding.from_spec")

    def partition_spec(self: _core.Sharding, /, mesh: Mapping[str, int] | _core.Mesh | None = None) -> str:
        """The text of the ``jax.sharding.PartitionSpec`` that stands for the sharding; the mesh is by default that of
        the sharding.

        A part of an axis is written as ``model:(1)2``: its size and the size of the part before it.

        Raises :class:`~hlomap.errors.ShapeError` if the tiles follow no axes of the mesh.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
        >>> sharding.partition_spec({"data": 2, "model": 4})
        "P(None, 'model')"
        """
        return specs.spec_of_sharding(self, mesh, "hlo.Sharding.partition_spec")

    def to_jax(self: _core.Sharding, /, mesh: Any) -> Any:
        """The ``jax.sharding.NamedSharding`` on a ``jax.sharding.Mesh`` with devices in row-major order.

        Raises :class:`~hlomap.errors.ShapeError` if the tiles follow no axes of the mesh, and
        :class:`~hlomap.errors.UnsupportedError` if a part of an axis splits a dimension, which JAX cannot say, or
        without JAX.
        """
        return interop_jax.named_sharding(self, mesh)

    def device_map(self: _core.Sharding, /, shape: _core.Shape, n_devices: int | None = None) -> MapSet:
        """The elements of an array on each device: a :class:`~hlomap.MapSet` from ``(device, l0, l1, …)``, an element
        of a device's part, to the element of the whole array.

        If the tiles do not divide the array, a constraint cuts the last parts.  There is one map if the order of the
        devices is an iota or has strides like one, else a map for each run of devices; ``.reason`` says so if there are
        many.  The set is unknown for the kind ``"unknown"``, and not exact if
        devices hold summands (``"unreduced"``) or arrays of their own (``"manual"``).  ``n_devices`` is the number of
        devices of a replicated array; without it every number of 31 bits is a device.

        Raises :class:`~hlomap.errors.ShapeError` for everything but an array whose rank fits, for a device that is
        listed twice and for inconsistent sizes.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[2,4]<=[8]}")
        >>> print(sharding.device_map(hm.Shape("f32", [10, 12])))
        (device, l0, l1) -> ((device floordiv 4) * 5 + l0, (device mod 4) * 3 + l1),
        domain: device in [0, 7], l0 in [0, 4], l1 in [0, 2]
        """
        return device_maps.device_map(self, shape, n_devices)

    def owner_map(self: _core.Sharding, /, shape: _core.Shape, n_devices: int | None = None) -> MapSet:
        """The devices that hold each element: a :class:`~hlomap.MapSet` from the indices of the array to a device.

        Replicas are a range variable.  Everything else is as in :meth:`device_map`, whose pairs the result inverts.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[2,1,4]<=[8] last_tile_dim_replicate}")
        >>> print(sharding.owner_map(hm.Shape("f32", [10, 12])))
        (d0, d1)[s0] -> ((d0 floordiv 5) * 4 + s0), domain: d0 in [0, 9], d1 in [0, 11], s0 in [0, 3]
        """
        return device_maps.owner_map(self, shape, n_devices)

    def local_shape(self: _core.Sharding, /, shape: _core.Shape, device: int | None = None) -> _core.Shape | None:
        """The shape of the part of an array that a device holds, by default of the largest part; ``None`` for a device
        that the sharding does not have.

        Sizes are 0 for a device beyond the end of the array.  The layout is kept.  Raises as :meth:`device_map`, and
        :class:`~hlomap.errors.UnsupportedError` if the kind of sharding does not determine parts.

        >>> import hlomap as hm
        >>> sharding, shape = hm.hlo.Sharding.parse("{devices=[4]<=[4]}"), hm.Shape("f32", [10])
        >>> print(sharding.local_shape(shape), sharding.local_shape(shape, 3), sharding.local_shape(shape, 4))
        f32[3] f32[1] None
        """
        return device_maps.local_shape(self, shape, device)

    def is_even(self: _core.Sharding, /, shape: _core.Shape) -> bool:
        """Whether all devices of the sharding hold parts of one size.  Raises as :meth:`local_shape`.

        >>> import hlomap as hm
        >>> sharding = hm.hlo.Sharding.parse("{devices=[4]<=[4]}")
        >>> sharding.is_even(hm.Shape("f32", [12])), sharding.is_even(hm.Shape("f32", [10]))
        (True, False)
        """
        return device_maps.is_even(self, shape)


class Rows:
    def sharding_columns(self: _core.Rows, table: Table, /) -> dict[str, list[Any]] | None:
        """The columns about shardings for a table with these rows, by name; ``None`` if no row has a sharding.

        If the shardings are propagated, a value without one is on every device, so each row has remote bytes.
        """
        found = self.sharded()
        return columns.sharding_columns(table, found) if found else None


class Page:
    _repr_html_ = _html


class Image:
    _repr_svg_ = _svg


class Judged:
    def _judge(self: object, before: _core.Module, after: _core.Module, check: Any) -> attached.Verdict:
        return equality.judge(before, after, check)

    def _payload(self: object, after: _core.Module) -> bytes:
        return equality.payload(after)


class Stages:
    def _history(self: DumpDirectory, module: DumpedModule | str) -> history.History:
        return history.history(self, module)


def attach() -> None:
    """Adds the methods of each class in this module to the class with the same name."""
    classes = (
        Expr,
        IndexingMap,
        Layout,
        Shape,
        Module,
        Computation,
        Instruction,
        Sharding,
        Rows,
        Page,
        Image,
        Judged,
        Stages,
    )
    for own in classes:
        target = getattr(attached, own.__name__, None) or getattr(_core, own.__name__)
        for name, member in vars(own).items():
            if callable(member) or isinstance(member, property):
                setattr(target, name, member)
