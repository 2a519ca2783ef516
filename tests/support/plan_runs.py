"""Runs what a plan says on simulated devices.

Every device has an array for each value, of which only the elements that the plan gives it are right: those of its
block, and of the copies that moves make.  All others are garbage (NaN in floats), so a device computes garbage if a
move is missing.  A move gives a device elements that devices of its group hold; nothing else does.  Where devices have
partial results, what others of the group hold is neutral.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt

import hlomap as hm
from hlomap.analysis.structure import element_index, elements_of, is_loop
from hlomap.interpreter import evaluate_one
from hlomap.ops import lookup
from hlomap.ops._numpy.reduction import MONOIDS, monoid
from hlomap.plans.graph import _operands_first, _run_by
from hlomap.shardings.specs import Parts

Array = npt.NDArray[Any]
Leaves = list[Array]


class WrongPlan(AssertionError):
    """The devices do not compute what the whole program does, or send other bytes than the plan says."""


class Run:
    """The run of a program by a plan."""

    def __init__(self, plan: hm.results.ShardPlan, arguments: Sequence[Array], without: int | None = None) -> None:
        self.plan, self.graph, self.axes = plan, plan._graph, plan._axes
        sizes = [n for _, n in self.axes.parts]
        self.devices = list(product(*(range(n) for n in sizes)))
        self.number = {place: d for d, place in enumerate(self.devices)}
        self.random = np.random.default_rng(1)
        self.rows: dict[int, list[Any]] = {}
        for k, row in enumerate(plan._rows):
            if k != without:
                self.rows.setdefault(row[0], []).append(row)
        # The application that makes a value, or hands one value on as another.
        self.application: dict[int, int] = {}
        self.handed_on: dict[tuple[int, int], list[int]] = {}
        for k, (rule, values, _) in enumerate(self.graph.applications):
            maps, inputs, *_ = self.graph.rules[rule]
            if maps is None:
                self.handed_on.setdefault((values[0], values[1]), []).append(k)
            else:
                self.application.update(dict.fromkeys(values[len(inputs) :], k))
        self.whole: dict[int, Array] = {}
        self.held: dict[int, Leaves] = {}
        self.copies: dict[int, list[tuple[Parts, int]]] = {}
        self.calls: dict[tuple[Any, ...], int] = {}
        self.n_calls: dict[hm.Instruction, int] = {}
        self.sent = 0
        with np.errstate(all="ignore"):
            self._run(arguments)

    def _run(self, arguments: Sequence[Array]) -> None:
        graph = self.graph
        entry = graph.module.entry
        assert len(arguments) == len(graph.parameters)
        for v, array in zip(graph.parameters, arguments, strict=True):
            parts = self.plan.parts(v)
            self.whole[v], self.copies[v] = array, [(parts, 0)]
            self.held[v] = self._checked(v, array, [array] * len(self.devices), parts, "argument")
        of_parameters = [graph.of_instruction[p][0] for p in entry.parameters]
        found = self._computation(entry, of_parameters, ())
        for source, target in zip(found, graph.outputs, strict=True):
            self._hand_on([(source, target, 0)])
        self.outputs = [self.whole[v] for v in graph.outputs]

    # ---------------------------------------------------------------------------------------------- the program

    def _values(self, instruction: hm.Instruction, path: tuple[Any, ...]) -> list[int]:
        key = (path, instruction)
        if key not in self.calls:
            self.calls[key] = self.n_calls.get(instruction, 0)
            self.n_calls[instruction] = self.calls[key] + 1
        found: list[int] = self.graph.of_instruction[instruction][self.calls[key]]
        return found

    def _computation(
        self, computation: hm.Computation, arguments: Sequence[list[int]], path: tuple[Any, ...]
    ) -> list[int]:
        values: dict[hm.Instruction, list[int]] = {}
        for instruction in _operands_first(computation):
            operands = [values[operand] for operand in instruction.operands]
            found = values[instruction] = self._values(instruction, path)
            called = _run_by(instruction)
            is_structural = elements_of(instruction) is not None or element_index(instruction) is not None
            if instruction.parameter_number is not None or is_structural or not found:
                continue
            if not called:
                number = self.application.get(found[0])
                if number is not None and self.graph.sources[number] == instruction:
                    self._operation(number, instruction, operands, found)
            elif is_loop(instruction):
                self._loop(instruction, operands[0], found, path)
            elif lookup(instruction.opcode).calls.runs == "branch":
                self._conditional(instruction, operands, found, path)
            else:
                self._computation(called[0], operands, (*path, instruction))
        return values[computation.root]

    def _loop(self, loop: hm.Instruction, before: list[int], carried: list[int], path: tuple[Any, ...]) -> None:
        condition, body = loop.attributes["condition"], loop.attributes["body"]
        self._hand_on([(s, t, 0) for s, t in zip(before, carried, strict=True)])
        while True:
            (go,) = self._computation(condition, [carried], (*path, loop, "condition"))
            self._leave(go)
            if not self.whole[go].item():
                return
            after = self._computation(body, [carried], (*path, loop, "body"))
            pairs = list(zip(after, carried, strict=True))
            self._hand_on([(s, t, -1) for s, t in pairs if s != t])
            inside = [k for s, t in pairs if s != t for k in self.handed_on[s, t]]
            if inside:
                self._leave_region(self.graph.applications[inside[-1]][2])

    def _conditional(
        self, instruction: hm.Instruction, operands: list[list[int]], results: list[int], path: tuple[Any, ...]
    ) -> None:
        chosen = self.whole[operands[0][0]].item()
        n = len(instruction.called_computations)
        branch = int(not chosen) if instruction.operands[0].shape.dtype == "pred" else chosen
        branch = branch if 0 <= branch < n else n - 1
        # The reader numbers the calls of all branches in the order of the text.
        for k, (called, given) in enumerate(zip(instruction.called_computations, operands[1:], strict=True)):
            found = self._computation(called, [given], (*path, instruction, k))
            if k == branch:
                self._hand_on([(s, t, k) for s, t in zip(found, results, strict=True)])
            for s, t in zip(found, results, strict=True):
                self._leave_region(self.graph.applications[self.handed_on[s, t][0]][2])

    def _leave(self, value: int) -> None:
        """Leaves the region in which a value is computed."""
        if value in self.application:
            self._leave_region(self.graph.applications[self.application[value]][2])

    def _leave_region(self, region: int) -> None:
        """Forgets the copies made in a region, which runs again or does not run for others."""
        for v, copies in self.copies.items():
            kept = [(parts, of) for k, (parts, of) in enumerate(copies) if k == 0 or not self._within(of, region)]
            if len(kept) < len(copies):
                self.copies[v] = kept
                masks = [self._mask(v, [parts for parts, _ in kept], d) for d in range(len(self.devices))]
                self.held[v] = [np.where(m, a, self._garbage(a)) for m, a in zip(masks, self.held[v], strict=True)]

    def _within(self, region: int | None, outer: int) -> bool:
        while region is not None and region > outer:
            region = self.graph.regions[region][0]
        return region == outer

    def _operation(
        self, number: int, instruction: hm.Instruction, operands: list[list[int]], results: list[int]
    ) -> None:
        n_inputs = sum(map(len, operands))

        def evaluate(leaves: Leaves) -> Leaves:
            rest = iter(leaves)
            given = [_nested(operand.shape, rest) for operand in instruction.operands]
            return list(_flat(evaluate_one(instruction, given)))

        _, values, _ = self.graph.applications[number]
        assert (values[:n_inputs], values[n_inputs:]) == ([v for o in operands for v in o], results)
        self._apply(number, instruction, evaluate)()

    def _hand_on(self, triples: Iterable[tuple[int, int, int]]) -> None:
        """Sets values to others, all at once."""
        stores = []
        for source, target, which in triples:
            number = self.handed_on[source, target][min(which, len(self.handed_on[source, target]) - 1)]
            stores.append(self._apply(number, None, lambda leaves: leaves))
        for store in stores:
            store()

    # --------------------------------------------------------------------------------------------- one application

    def _apply(self, number: int, instruction: hm.Instruction | None, evaluate: Any) -> Any:
        """Moves operands, computes on every device, and moves the results; returns what sets the results."""
        rule, values, region = self.graph.applications[number]
        n_inputs = len(self.graph.rules[rule][1])
        inputs = values[:n_inputs]
        rows = self.rows.get(number, [])
        used: dict[int, list[Parts]] = {}
        for row in (row for row in rows if row[2] == "operand"):
            used.setdefault(row[1], []).append(self._parts(row[6]))
            self._move_operand(row, dict(self.graph.invariant).get(row[1], region))
        held = {v: self.held[v] for v in inputs}
        for row in (row for row in rows if row[2] == "halo"):
            held = self._halo(row, number, held)
        partial = [row for row in rows if row[2] == "partial result"]
        along = {p for row in partial for p in row[4]}
        sums = [row for row in rows if row[2] in ("partial result", "result")]
        problem = None
        before = self.sent
        # The plan does not say which of several copies a device uses for its partial result.
        for chosen in self._choices(inputs, used, along):
            self.sent = before
            given = [held[v] for v in inputs]
            if along:
                given = self._masked(inputs, given, chosen, along, instruction)
            try:
                return self._computed(number, instruction, evaluate, given, sums)
            except WrongPlan as error:
                problem = error
        raise problem or AssertionError

    def _computed(
        self, number: int, instruction: hm.Instruction | None, evaluate: Any, held: list[Leaves], rows: list[Any]
    ) -> Any:
        """Computes on every device, and moves the results; returns what sets them."""
        rule, values, _ = self.graph.applications[number]
        n_inputs = len(self.graph.rules[rule][1])
        inputs, outputs = values[:n_inputs], values[n_inputs:]
        name = self.graph.sources[number].name
        whole = evaluate([self.whole[v] for v in inputs])
        computed = self._per_device(held, evaluate)
        results = [[one[k] for one in computed] for k in range(len(outputs))]
        if any(row[2:4] == ("partial result", "all-gather") for row in rows):
            assert instruction is not None
            results = self._gathered(rows, results, instruction, inputs, outputs)
        stores = []
        for v, data, array in zip(outputs, results, whole, strict=True):
            own = [row for row in rows if row[1] == v]
            have = self._parts(own[0][5]) if own else self.plan.parts(v)
            for row in own:
                if row[2] == "result":
                    data = self._exchange(v, row, data, have)
                elif row[3] == "all-gather":
                    self._count(row, (prod(map(self._size, row[4])) - 1) * self._largest(v, have))
                else:
                    data = self._combine(v, row, data, have, instruction)
                have = self._parts(row[6])
            planned = self.plan.parts(v)
            for d in range(len(self.devices)):
                if (self._block_mask(v, planned, d) & ~self._block_mask(v, have, d)).any():
                    raise WrongPlan(f"{name}: device {d} has {have}, and should have {planned}")
            stores.append((v, array, self._checked(v, array, data, planned, name), planned))

        def store() -> None:
            for v, array, data, planned in stores:
                self.whole[v], self.copies[v], self.held[v] = array, [(planned, 0)], data

        return store

    def _choices(
        self, inputs: list[int], used: Mapping[int, list[Parts]], along: set[int]
    ) -> Iterator[Sequence[Parts]]:
        """For each operand of partial results the copies that it may be."""
        choices = []
        for v in inputs if along else ():
            copies = used.get(v) or [parts for parts, _ in self.copies[v]]
            n_split = [sum(p in along for own in parts for p in own) for parts in copies]
            choices.append([parts for parts, n in zip(copies, n_split, strict=True) if n == max(n_split)])
        yield from product(*choices)

    def _per_device(self, held: list[Leaves], evaluate: Any) -> list[Leaves]:
        """What each device computes; devices with equal operands compute once."""
        known: dict[tuple[bytes, ...], Leaves] = {}
        found = []
        for d in range(len(self.devices)):
            leaves = [arrays[d] for arrays in held]
            key = tuple(array.tobytes() for array in leaves)
            if key not in known:
                known[key] = evaluate(leaves)
            found.append(known[key])
        return found

    def _parts(self, sharding: int) -> Parts:
        found: Parts = self.plan._parts[sharding]
        return found

    def _size(self, part: int) -> int:
        return int(self.axes.parts[part][1])

    def _largest(self, v: int, parts: Parts) -> int:
        dimensions = self.graph.values[v].dimensions
        return prod(-(-n // self.axes.ways(own)) for n, own in zip(dimensions, parts, strict=True))

    def _block(self, v: int, parts: Parts, d: int) -> tuple[slice, ...]:
        at, found = self.devices[d], []
        for n, own in zip(self.graph.values[v].dimensions, parts, strict=True):
            position = 0
            for p in own:
                position = position * self._size(p) + at[p]
            size = -(-n // self.axes.ways(own))
            found.append(slice(min(n, position * size), min(n, position * size + size)))
        return tuple(found)

    def _block_mask(self, v: int, parts: Parts, d: int) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.graph.values[v].dimensions, bool)
        mask[self._block(v, parts, d)] = True
        return mask

    def _mask(self, v: int, of: Iterable[Parts], d: int) -> npt.NDArray[np.bool_]:
        masks = [self._block_mask(v, parts, d) for parts in of]
        return np.asarray(np.logical_or.reduce(masks))

    def _garbage(self, like: Array) -> Array:
        if like.dtype.kind == "b":
            return np.asarray(self.random.random(like.shape) < 0.5)
        if like.dtype.kind in "iu":
            return np.asarray(self.random.integers(0, 100, like.shape)).astype(like.dtype)
        return np.full_like(like, np.nan)

    def _group(self, d: int, parts: Iterable[int]) -> Iterator[int]:
        """The devices that differ from a device at most along some parts of axes, in order."""
        own = sorted(set(parts))
        for place in product(*(range(self._size(p)) for p in own)):
            at = list(self.devices[d])
            for p, c in zip(own, place, strict=True):
                at[p] = c
            yield self.number[tuple(at)]

    def _checked(self, v: int, whole: Array, data: Leaves, parts: Parts, name: str) -> Leaves:
        """Every device's block, which must be that of the whole program, and garbage elsewhere."""
        found = []
        largest = np.max(np.abs(np.nan_to_num(whole)), initial=0.0) if whole.dtype.kind in "fc" else 0
        for d, array in enumerate(data):
            block = self._block(v, parts, d)
            if not np.allclose(array[block], whole[block], rtol=1e-4, atol=1e-5 * largest, equal_nan=True):
                raise WrongPlan(f"{name}: device {d} has another block {block} than the whole program")
            own = self._garbage(whole)
            own[block] = array[block]
            found.append(own)
        return found

    # ------------------------------------------------------------------------------------------------------- moves

    def _count(self, row: Any, elements: float) -> None:
        _, v, *_, wire_bytes, _ = row
        bits = self.graph.values[v].element_bits
        if ceil(elements * bits / 8) != wire_bytes:
            raise WrongPlan(f"{row}: {wire_bytes} bytes, the devices send {elements * bits / 8}")
        self.sent += wire_bytes

    def _received(self, v: int, row: Any, held: Leaves, source: Parts, target: Parts) -> Leaves:
        """The arrays with the target block, from devices of the group that hold it in the source sharding."""
        most, found = 0, []
        for d, array in enumerate(held):
            own = array.copy()
            want, have = self._block_mask(v, target, d), self._block_mask(v, source, d)
            missing = want & ~have
            most = max(most, int(missing.sum()))
            n_senders = 0
            for other in self._group(d, row[4]):
                take = missing & self._block_mask(v, source, other)
                n_senders += bool(take.any())
                own[take] = held[other][take]
                missing &= ~take
            if row[3] == "collective-permute" and n_senders > 1:
                raise WrongPlan(f"{row}: device {d} receives from {n_senders} devices")
            if missing.any():
                raise WrongPlan(f"{row}: no device of the group has what device {d} needs")
            found.append(own)
        self._count(row, most)
        return found

    def _move_operand(self, row: Any, region: int) -> None:
        v, source, target = row[1], self._parts(row[5]), self._parts(row[6])
        if any(parts == target for parts, _ in self.copies[v]):
            return  # moved before the loop
        if not any(parts == source for parts, _ in self.copies[v]):
            raise WrongPlan(f"{row}: no device group holds the copy to move")
        self.held[v] = self._received(v, row, self.held[v], source, target)
        self.copies[v].append((target, region))

    def _exchange(self, v: int, row: Any, data: Leaves, have: Parts) -> Leaves:
        if have != self._parts(row[5]):
            raise WrongPlan(f"{row}: the result is in another sharding")
        return self._received(v, row, data, have, self._parts(row[6]))

    def _halo(self, row: Any, number: int, held: Mapping[int, Leaves]) -> dict[int, Leaves]:
        """Gives each device what its block of the result reads, by the maps, from the group."""
        rule, values, _ = self.graph.applications[number]
        maps, inputs = self.graph.rules[rule][0], self.graph.rules[rule][1]
        output = values[len(inputs)]
        later = [r for r in self.rows[number] if r[1] == output and r[2] in ("partial result", "result")]
        parts = self._parts(later[0][5]) if later else self.plan.parts(output)
        found = {v: [array.copy() for array in arrays] for v, arrays in held.items()}
        most = 0.0
        for d in range(len(self.devices)):
            n_bytes = 0.0
            for v, of_operand in zip(values, maps, strict=False):
                if not of_operand or any(m.runtime for m in of_operand):
                    continue
                for m in of_operand:
                    missing = self._read(m, self._block(output, parts, d), self.whole[v].shape)
                    missing &= ~self._mask(v, [p for p, _ in self.copies[v]], d)
                    n_bytes += int(missing.sum()) * self.graph.values[v].element_bits / 8
                    for other in self._group(d, row[4]):
                        take = missing & self._mask(v, [p for p, _ in self.copies[v]], other)
                        found[v][d][take] = held[v][other][take]
                        missing &= ~take
                    if missing.any():
                        raise WrongPlan(f"{row}: no device of the group has what device {d} reads")
            most = max(most, n_bytes)
        if ceil(most) > row[-2]:
            raise WrongPlan(f"{row}: the devices read {most} bytes beyond their blocks")
        self.sent += row[-2]
        return found

    @staticmethod
    def _read(m: hm.IndexingMap, block: tuple[slice, ...], shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """The elements that a map reads for a block of the output."""
        sides = [np.arange(one.start, one.stop) for one in block]
        sides += [np.arange(r.lower, r.upper + 1) for r in m.ranges]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*sides, indexing="ij")], axis=1)
        dims, ranges = points[:, : len(block)], points[:, len(block) :]
        found = np.zeros(shape, bool)
        inside = m.in_domain(dims, ranges)
        at = m.evaluate(dims[inside], ranges[inside])
        found[tuple(np.asarray(at).T)] = True
        return found

    def _neutral(self, instruction: hm.Instruction | None, inputs: list[int]) -> list[Any]:
        """For each operand the number that leaves partial results unchanged."""
        assert instruction is not None
        if instruction.opcode == "reduce":
            half = len(inputs) // 2
            return [self.whole[v].item() for v in inputs[half:]] * 2
        how = self._how(instruction)
        return [{"add": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}[how]] * len(inputs)

    @staticmethod
    def _how(instruction: hm.Instruction) -> str:
        called = instruction.called_computations
        return (monoid(called[-1]) if called else None) or "add"

    def _masked(
        self, inputs: list[int], held: list[Leaves], chosen: Sequence[Parts], along: set[int], instruction: Any
    ) -> list[Leaves]:
        """Operands for partial results: what other devices of the group hold is neutral."""
        found = []
        neutral = self._neutral(instruction, inputs)
        for k, (v, parts, arrays) in enumerate(zip(inputs, chosen, held, strict=True)):
            split = [p for own in parts for p in own if p in along]
            masked = [array.copy() for array in arrays]
            for d, own in enumerate(masked):
                if split:
                    others = np.zeros(own.shape, bool)
                    for other in self._group(d, split):
                        others |= self._block_mask(v, parts, other)
                    own[others & ~self._block_mask(v, parts, d)] = neutral[k]
                elif self._is_base(instruction, k) and any(self.devices[d][p] for p in along):
                    own[...] = neutral[k]
            found.append(masked)
        return found

    @staticmethod
    def _is_base(instruction: hm.Instruction, k: int) -> bool:
        """Whether partial results are added to an operand, which then counts on one device of the group."""
        if instruction.opcode == "select-and-scatter":
            return k == 2
        return instruction.opcode == "scatter" and k < len(instruction.operands) // 2

    def _combine(self, v: int, row: Any, data: Leaves, have: Parts, instruction: Any) -> Leaves:
        """An all-reduce or a reduce-scatter along the parts of the row."""
        function = getattr(np, MONOIDS[self._how(instruction)])
        n = prod(self._size(p) for p in row[4])
        found: Leaves = [np.empty(0)] * len(data)
        for d in range(len(data)):
            group = list(self._group(d, row[4]))
            if group[0] == d:
                total = data[d]
                for other in group[1:]:
                    total = function(total, data[other])
                for other in group:
                    found[other] = total
        size = self._largest(v, have)
        self._count(row, 2 * (n - 1) / n * size if row[3] == "all-reduce" else (n - 1) / n * size)
        return found

    def _gathered(
        self, rows: list[Any], data: list[Leaves], instruction: hm.Instruction, inputs: list[int], outputs: list[int]
    ) -> list[Leaves]:
        """Partial results of every device of the group, combined by the computation of the instruction."""
        half = len(inputs) // 2
        initial = [self.whole[v] for v in inputs[half:]]
        along = {row[1]: row[4] for row in rows if row[2] == "partial result"}
        found: list[Leaves] = [[] for _ in data]
        for d in range(len(self.devices)):
            group = list(self._group(d, rows[0][4]))
            # Of an output that nobody sends, a device has only what it computed.
            stacked = [np.stack([one[other if v in along else d] for other in group])
                       for v, one in zip(outputs, data, strict=True)]  # fmt: skip
            arrays = [*stacked, *initial]
            dtypes = [operand.shape.dtype for operand in instruction.operands]
            text = [f"{t}[{','.join(map(str, a.shape))}]" for t, a in zip(dtypes, arrays, strict=True)]
            result = [f"{t}[{','.join(map(str, a.shape[1:]))}]" for t, a in zip(dtypes, stacked, strict=False)]
            names = [f"p{k}" for k in range(len(arrays))]
            lines = [f"{name} = {t} parameter({k})" for k, (name, t) in enumerate(zip(names, text, strict=True))]
            called = instruction.called_computations[0]
            root = f"({', '.join(result)}) reduce({', '.join(names)}), dimensions={{0}}, to_apply=%{called.name}"
            module = hm.parse("\n".join(["HloModule m", str(called), "ENTRY e {", *lines, f"ROOT r = {root}", "}"]))
            for one, array in zip(found, hm.execute(module, *arrays), strict=True):
                one.append(np.asarray(array))
        return found


def _nested(shape: hm.Shape, leaves: Iterator[Array]) -> Any:
    return next(leaves) if not shape.is_tuple else [_nested(part, leaves) for part in shape.tuple_shapes]


def _flat(value: Any) -> Iterator[Array]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _flat(one)
    else:
        yield np.asarray(value)
