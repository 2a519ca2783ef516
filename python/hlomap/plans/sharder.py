"""``hm.shard`` and ``hm.sharder``: plans of the shardings of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .._core import Computation, Instruction, Mesh, Module, Sharding, _Sharder
from ..base.lazy import np, npt
from ..base.types import expect, expect_ints, module_hint, wrong_type
from ..errors import HlomapError, NotFoundError, ShapeError
from ..shardings.meshes import mesh_of
from ..shardings.specs import Axes, Parts, Spec, no_value
from .graph import Graph, Value, graph_of
from .plan import ShardPlan

Rule: TypeAlias = Literal["propagate", "least"]
Mapped: TypeAlias = "Mapping[str, Spec] | Mapping[Instruction, Spec] | Mapping[str | Instruction, Spec]"
Specs: TypeAlias = "Mapped | Sequence[Mapped]"
"""Shardings by parameter, its name in the source program, or instruction; or several such mappings, the first of which
is propagated first."""
Outputs: TypeAlias = Any
"""A spec, or None, for each result; for a program with one result also the spec itself."""
_Stage: TypeAlias = list[tuple[int, Parts]]

_RULES = ("propagate", "least")


def shard(
    module: Module,
    /,
    specs: Specs,
    *,
    mesh: Mapping[str, int] | Mesh | None = None,
    outputs: Outputs = None,
    rule: Rule = "propagate",
    constraints: bool = True,
) -> ShardPlan:
    """The sharding that each value of a program gets from those of its parameters, and the bytes that devices send.

    ``module`` is unoptimized or before partitioning (:func:`hlomap.from_jax` with ``stage="unoptimized"``).  ``mesh``
    maps each axis to its size, by default as the module's only mesh; devices are in row-major order.  ``specs`` maps
    parameters, by name, by the name in the source program (``op_name``), or as instructions, also other instructions,
    to specs: entries like those of a ``PartitionSpec`` (None, an axis or a tuple of axes for each dimension; trailing
    ones may be left out), the text of one, or a :class:`hlomap.hlo.Sharding`.  Other parameters are on every device.  A
    list of mappings is propagated one after the other.  ``outputs`` has a spec, or None, for each result.  With
    ``constraints``, the sharding constraints of the program hold.

    ``rule="propagate"`` predicts XLA's choices; ``rule="least"`` takes the fewest bytes for one instruction after
    another.  Bytes are those that the busiest device sends (:func:`hlomap.collectives`).

    Raises :class:`~hlomap.errors.ShapeError` for specs that do not fit the mesh or the array, and
    :class:`~hlomap.errors.NotFoundError` for a name that no parameter has.

    >>> module = hm.parse('''HloModule mlp
    ... ENTRY e {
    ...   x = f32[64,32] parameter(0)
    ...   w = f32[32,128] parameter(1)
    ...   ROOT y = f32[64,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    >>> plan = shard(module, {"x": ("data",), "w": ("data", "model")}, mesh={"data": 2, "model": 4})
    >>> print(plan)
    mlp on mesh {data: 2, model: 4}: 2,048 bytes sent by a device, 1 move
       2,048  all-gather         w P('data', 'model') -> P(None, 'model'), operand of y
    >>> plan.spec("y")
    ('data', 'model')
    """
    return _sharder(module, mesh, rule, constraints, "shard").plan(specs, outputs)


def sharder(
    module: Module,
    /,
    *,
    mesh: Mapping[str, int] | Mesh | None = None,
    rule: Rule = "propagate",
    constraints: bool = True,
) -> Sharder:
    """Plans many shardings of one program on a mesh; it keeps rules and answers from one to the next.

    Arguments and exceptions are those of :func:`shard`.

    >>> module = hm.parse("ENTRY e { x = f32[64,32] parameter(0) ROOT t = f32[32,64] transpose(x), dimensions={1,0} }")
    >>> planner = sharder(module, mesh={"data": 8})
    >>> planner.evaluate([{"x": ("data",)}, {"x": (None, "data")}]).tolist()
    [0, 0]
    """
    return _sharder(module, mesh, rule, constraints, "sharder")


def _sharder(
    module: Module, mesh: Mapping[str, int] | Mesh | None, rule: Rule, constraints: bool, function: str
) -> Sharder:
    expect(Module, module, function, "a Module", module_hint(module))
    expect(str, rule, function, "a str as `rule`")
    if rule not in _RULES:
        raise ValueError(f"hm.{function}: expected 'propagate' or 'least' as `rule`, got {rule!r}")
    mesh = mesh_of(module.entry.root) if mesh is None else mesh
    if mesh is None:
        raise wrong_type(function, "a mapping of axis to size, or a Mesh, as `mesh`", None, "the module names no mesh")
    return Sharder(graph_of(module), Axes(mesh, function), rule, constraints)


class Sharder:
    """Plans shardings of one program on one mesh; :func:`hlomap.sharder` makes it."""

    module: Module
    rule: Rule

    def __init__(self, graph: Graph, axes: Axes, rule: Rule, constraints: bool) -> None:
        self.module, self.rule = graph.module, rule
        self._graph, self._axes = graph, axes
        self._notes = [f"{i.name}: {reason}" for i, reason in graph.notes.items()]
        self._given: _Stage = self._constraints() if constraints else []
        self._names = self._parameter_names()
        self._read: dict[Any, _Stage] = {}
        arrays = [(value.dimensions, value.element_bits) for value in graph.values]
        self._compiled = _Sharder(
            [size for _, size in axes.parts[: axes.n_real]],
            rule == "least",
            graph.rules,
            graph.applications,
            graph.regions,
            arrays,
            graph.invariant,
            graph.parameters,
        )

    def plan(self, specs: Specs, outputs: Outputs = None) -> ShardPlan:
        """The plan for some specs; see :func:`shard`."""
        stages = self._stages(specs, outputs)
        numbers, shardings, moves = self._compiled.plan(self._real(stages))
        given = {v: parts for stage in stages for v, parts in stage}
        return ShardPlan(self._graph, self._axes, self.rule, numbers, shardings, moves, self._notes, given)

    def evaluate(
        self, candidates: Iterable[Specs], threads: int = 1, *, outputs: Outputs = None
    ) -> npt.NDArray[np.int64]:
        """``wire_bytes`` of the plan of each candidate, on up to ``threads`` threads (0: all cores)."""
        expect_ints("Sharder.evaluate", threads=threads)
        if threads < 0:
            raise ValueError(f"hm.Sharder.evaluate: expected 0 or more as `threads`, got {threads}")
        given = [self._real(self._stages(specs, outputs)) for specs in candidates]
        return np.array(self._compiled.evaluate(given, threads or 1 << 16), np.int64)

    def __repr__(self) -> str:
        return f"<Sharder of {self.module.name} on {self._axes}, {self.rule}>"

    # ------------------------------------------------------------------------------------------------------- reading

    def _constraints(self) -> _Stage:
        found: _Stage = []
        for v, sharding in self._graph.constraints:
            value = self._graph.values[v]
            try:
                if value.shape.is_array:
                    found.append((v, self._axes.read(sharding, value.shape, value.instruction.name)))
            except HlomapError as error:
                self._notes.append(f"{value.instruction.name}: the constraint is left out: {error.args[0]}")
        return found

    def _parameter_names(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for kind in ("name", "op_name"):
            for v in self._graph.parameters:
                i = self._graph.values[v].instruction
                name = i.name if kind == "name" else i.metadata.op_name
                if name and (kind == "name" or name not in found or found[name][0] in self._of(i)):
                    own = found.setdefault(name, [])
                    if v not in own:
                        own.append(v)
        return found

    def _of(self, instruction: Instruction) -> list[int]:
        return [v for values in self._graph.of_instruction[instruction] for v in values]

    def _stages(self, specs: Specs, outputs: Outputs) -> list[_Stage]:
        if isinstance(specs, Mapping):
            listed = [specs]
        elif isinstance(specs, (list, tuple)) and all(isinstance(one, Mapping) for one in specs):
            listed = list(specs) or [{}]
        else:
            raise wrong_type(
                self._axes.function, "a mapping of parameters to specs, or a list of them, as `specs`", specs
            )
        stages: list[_Stage] = []
        known: dict[int, Parts] = {}
        for number, one in enumerate(listed):
            stage: _Stage = [*self._given, *self._of_outputs(outputs)] if number == 0 else []
            for key, spec in one.items():
                for v, parts in self._values(key, spec):
                    known[v] = self._merged(known[v], parts, v) if v in known else parts
                    stage.append((v, known[v]))
            stages.append(stage)
        return stages

    def _real(self, stages: list[_Stage]) -> list[_Stage]:
        """Without axes of size 1: like Shardy, a plan propagates none, so that they conflict with nothing."""
        if self._axes.n_real == len(self._axes.parts):
            return stages
        return [[(v, self._axes.real(parts)) for v, parts in stage] for stage in stages]

    def _merged(self, before: Parts, after: Parts, v: int) -> Parts:
        """The sharding of a value in two mappings: each dimension of the earlier one is only extended."""
        merged = tuple(a or b for b, a in zip(before, after, strict=True))
        flat = [p for own in merged for p in own]
        extends = all(a[: len(b)] == b for b, a in zip(before, merged, strict=True))
        if not extends or len(set(flat)) != len(flat):
            name = self._graph.values[v].instruction.name
            texts = f"{self._axes.text(before)} and then {self._axes.text(after)}"
            raise self._axes.error(f"{name} cannot have {texts}: a later mapping only extends dimensions")
        return merged

    def _values(self, key: object, spec: Spec) -> _Stage:
        """The values of a key of ``specs``, with their shardings."""
        try:
            return self._read[key, spec]
        except (KeyError, TypeError):  # lists are not hashable
            found = self._read_values(key, spec)
        try:
            self._read[key, spec] = found
        except TypeError:
            return found
        return found

    def _read_values(self, key: object, spec: Spec) -> _Stage:
        function = self._axes.function
        if isinstance(key, str):
            if key not in self._names:
                raise no_value(function, key, self._names)
            values, name = self._names[key], key
        elif isinstance(key, Instruction):
            if key not in self._graph.of_instruction:
                raise NotFoundError(f"hm.{function}: {key.name} is not run by {self.module.name}")
            values, name = list(dict.fromkeys(self._of(key))), key.name
        else:
            hint = "a whole computation has no sharding" if isinstance(key, Computation) else ""
            raise wrong_type(function, "a name or an Instruction as a key of `specs`", key, hint)
        whole = self._graph.values[values[0]] if values else None
        if whole is None or not whole.shape.is_array or len({self._graph.values[v].shape for v in values}) > 1:
            return self._read_tuple(values, spec, name)
        return [(v, self._axes.read(spec, self._graph.values[v].shape, name)) for v in values]

    def _read_tuple(self, values: Sequence[int], spec: Any, name: str) -> _Stage:
        parts = spec.parts if isinstance(spec, Sharding) and spec.kind == "tuple" else spec
        if not isinstance(parts, (tuple, list)) or len(parts) != len(values):
            raise self._axes.error(f"{name} is a tuple of {len(values)} arrays: give a spec for each")
        shapes = [self._graph.values[v].shape for v in values]
        return [(v, self._axes.read(s, shape, name)) for v, s, shape in zip(values, parts, shapes, strict=True) if s]

    def _of_outputs(self, outputs: Outputs) -> _Stage:
        if outputs is None:
            return []
        results = self._graph.outputs
        shape = self.module.entry.root.shape
        listed: Sequence[Any] = [outputs] if shape.is_array and not _is_list_of_specs(outputs) else list(outputs)
        if len(listed) != len(results):
            n, given = len(results), len(listed)
            raise ShapeError(f"hm.{self._axes.function}: {self.module.name} has {n} results, `outputs` has {given}")
        found: _Stage = []
        for k, (v, spec) in enumerate(zip(results, listed, strict=True)):
            value: Value = self._graph.values[v]
            if spec is not None:
                found.append((v, self._axes.read(spec, value.shape, f"output {k}")))
        return found


def _is_list_of_specs(outputs: Any) -> bool:
    """Whether ``outputs`` of a program with one result is a list with one spec, not the spec itself."""
    if not isinstance(outputs, (tuple, list)) or len(outputs) != 1:
        return False
    (only,) = outputs
    return (
        isinstance(outputs, list)
        or only is None
        or isinstance(only, (Sharding, list))
        or (isinstance(only, str) and "(" in only)
    )
