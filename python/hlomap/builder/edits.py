"""Changes of a program that is there: of a module that :func:`edit` opens, or of what a builder has written so far.

A module is loaded computation by computation, when one is first looked at; the compiled module assembles the new one,
and copies what no edit touched.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .. import _core
from .._core import Computation, Instruction, Module, Shape
from ..base.types import module_hint, wrong_type as wrong_argument
from ..errors import HloSyntaxError, NotFoundError, ShapeError, UnsupportedError
from ..hlo.edit import call_text, check_group
from ..ops import lookup
from ..writing.arguments import as_value, described, items, text
from ..writing.attributes import Attribute, Callees, Names
from ..writing.core import Core, ordered, predecessors, runnable
from ..writing.values import Callee, Edits as State, Scope, Value

if TYPE_CHECKING:
    from .builder import Builder

_Field: TypeAlias = "str | int | tuple[int, ...] | list[int]"
_Row: TypeAlias = "tuple[str, Shape, str, str, list[int], list[tuple[str, _Field]], int | None]"


def edit(module: Module, /) -> Builder:
    """A :class:`Builder` that holds a module: every instruction is a Value, and can be replaced, inlined or fused.

    ``b["name"]`` is an instruction, ``b.root`` the root.  Methods of the builder write into the entry, and in a block
    ``with b.inside(value)`` into the computation of ``value``.  :meth:`Value.annotated` sets attributes, and removes
    one with ``""``.  ``b.build()`` gives the new module:

    - The order is stable: an instruction moves only if what it needs comes later, so that a schedule remains one.
    - What an edit left without users goes, unless it has a side effect, and computations that nobody calls any more.
    - Instructions that no edit touched keep their names and their text, and tables of stack frames stay.
    - The layouts of the entry follow its parameters and root, those of the parameters of fusions and calls their
      operands.  If all arrays of the module have layouts, new ones get the layout of the first operand of the same
      sizes, else the descending one.
    - The result passes a strict reading if the module does.

    Raises :class:`TypeError` for anything but a module, and :class:`~hlomap.errors.UnsupportedError` for one of which a
    part cannot be read, or whose text leaves out the names of operands.

    >>> module = hm.parse('''ENTRY e {
    ...   x = f32[4,8] parameter(0)
    ...   t = f32[8,4] transpose(x), dimensions={1,0}
    ...   u = f32[4,8] transpose(t), dimensions={1,0}
    ...   ROOT n = f32[4,8] negate(u)
    ... }''')
    >>> b = hm.edit(module)
    >>> b.replace(b["u"], b["x"])
    <Value x: f32[4,8]>
    >>> print(b.build().entry)
    ENTRY %e (x: f32[4,8]) -> f32[4,8] {
      %x = f32[4,8] parameter(0)
      ROOT %n = f32[4,8] negate(%x)
    }
    <BLANKLINE>
    """
    if not isinstance(module, Module):
        raise wrong_argument("edit", "a Module", module, module_hint(module))
    if module.unread or module.has_skipped_text:
        what = module.unread[0].name if module.unread else "a part of the text"
        raise UnsupportedError(f"hm.edit: {what} cannot be read")
    from .builder import Builder

    b = Builder("module")
    b._hold(module)
    return b


class _HeldValue(Value):
    """An instruction of the module that is edited; its attributes are read when they are needed."""

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:  # type: ignore[override]
        return self.builder._attributes_of(self)


class Edits(Core):
    """Methods that change what is written, and find it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._module: Module | None = None
        self._held: dict[int, Callee] = {}
        self._computation_names: list[str] = []

    def __getitem__(self, name: str) -> Value:
        """The instruction of this name, with or without ``%``; the entry's before those of other computations.

        Raises :class:`~hlomap.errors.NotFoundError`, also for an instruction that an edit has replaced.
        """
        bare = text("name", name).removeprefix("%")
        value = self._by_name.get(bare)
        if value is None and self._module is not None:
            found = self._value_of(self._module[bare])
            value = None if found in self._renamed else found
        elif value is not None and value.name != bare:
            value = None
        if value is None or (value._scope.edits is not None and value in value._scope.edits.removed):
            raise NotFoundError(f"no instruction `{bare}`")
        return value

    @property
    def root(self) -> Value:
        """The root of the computation that is being written.

        Raises :class:`~hlomap.errors.NotFoundError` if it has none yet.
        """
        root = self._scopes[-1].root
        if root is None:
            raise NotFoundError(f"hm.Builder.root: {self._scopes[-1].name} has no root yet")
        return root

    def users(self, value: Value) -> list[Value]:
        """The instructions that have a Value as an operand, each once, in order.

        >>> x = b.parameter(0, "f32[3]", "x")
        >>> y, z = x * x, -x
        >>> b.users(x)
        [<Value multiply: f32[3]>, <Value negate: f32[3]>]
        """
        edits = self._edits("value", value)
        return [user for user in edits.users(value) if user not in edits.removed]

    @contextmanager
    def inside(self, value: Value) -> Iterator[None]:
        """A ``with`` block whose methods write into the computation of ``value``.

        >>> module = hm.parse('''add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
        ... ENTRY e {
        ...   x = f32[4] parameter(0)
        ...   c = f32[] constant(0)
        ...   ROOT s = f32[] reduce(x, c), dimensions={0}, to_apply=add
        ... }''')
        >>> b = hm.edit(module)
        >>> with b.inside(b["r"]):
        ...     b.replace(b["r"], b.max(b["p"], b["q"]))
        <Value maximum: f32[]>
        >>> [i.opcode for i in b.build().computation("add")]
        ['parameter', 'parameter', 'maximum']
        """
        self._edits("value", value)
        self._scopes.append(value._scope)
        try:
            yield
        finally:
            self._scopes.pop()

    def replace(self, old: Value, new: Value) -> Value:
        """Lets everything that reads ``old`` read ``new``, which it returns.

        Control predecessors and the root count as reads.  What ``new`` is computed from keeps reading ``old``, so that
        a value can be replaced by a function of it.  Raises :class:`~hlomap.errors.ShapeError` if the shapes differ in
        more than layouts, if the Values belong to different computations, and if nothing else reads ``old``.

        >>> x = b.parameter(0, "f32[3]", "x")
        >>> y = -x
        >>> z = b.exp(y)
        >>> b.replace(y, b.tanh(y))
        <Value tanh: f32[3]>
        >>> b.replace(x, b.iota("f32[4]"))
        Traceback (most recent call last):
        hlomap.errors.ShapeError: hm.Builder.replace(x f32[3], iota f32[4]): expected f32[3]
        """
        edits = self._edits("old", old)
        self._edits("new", new)
        expected = old.shape.without_layout()
        if new.shape.without_layout() != expected:
            raise ShapeError(f"hm.Builder.replace({described(old)}, {described(new)}): expected {expected}")
        call = f"hm.Builder.replace({old.name}, {new.name})"
        if old._scope is not new._scope:
            raise ShapeError(f"{call}: {old.name} is in {old._scope.name}, {new.name} in {new._scope.name}")
        if new in edits.removed:
            raise ShapeError(f"{call}: {new.name} was replaced, or became a part of a fusion")
        above = _above(new, old)
        if old is not new and not self._redirect(old, new, above):
            rest = f" but what {new.name} is computed from" if not above.isdisjoint(edits.users(old)) else ""
            raise ShapeError(f"{call}: nothing reads {old.name}{rest}")
        return new

    def inline(self, value: Value) -> Value:
        """Puts the instructions of its computation in the place of a fusion or call; returns the Value in its place.

        What reads an element of a tuple reads the element directly.

        >>> module = hm.parse('''f { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
        ... ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] fusion(x), kind=kLoop, calls=f }''')
        >>> b = hm.edit(module)
        >>> b.inline(b["y"])
        <Value n.1: f32[4]>
        >>> [i.name for i in b.build().instructions]
        ['x', 'n.1']
        """
        edits = self._edits("value", value)
        if not lookup(value.opcode).calls.inlines:
            raise ShapeError(f"hm.Builder.inline({value.name}): expected a fusion or a call, found {value.opcode}")
        if value in edits.removed:
            raise ShapeError(f"hm.Builder.inline({value.name}): {value.name} was replaced")
        body = _callee_of(value).scope
        made: dict[Value, Value] = {}
        waits = predecessors(value)
        for inner in runnable(body):
            if inner.opcode == "parameter":
                made[inner] = value.operands[int(inner.literal)]
                continue
            attributes: dict[str, Attribute] = dict(inner.written)
            attributes.pop("control-predecessors", None)
            if before := Names([*(made[one] for one in predecessors(inner)), *waits]):
                attributes["control-predecessors"] = before
            written = inner.shape, inner.opcode, tuple(made[one] for one in inner.operands), attributes, inner.literal
            made[inner] = self._placed(value, inner.name, *written)
        assert body.root is not None
        new = made[body.root]
        if new.number is None and new not in set(value.operands) and new.shape.equals(value.shape, layout="ignored"):
            new.shape = value.shape
        if new.opcode == "tuple":
            for user in self.users(value):
                if user.opcode == "get-tuple-element":
                    self._redirect(user, new.operands[int(str(user.attributes["index"]))])
                    self._remove(user)
        self._redirect(value, new)
        self._remove(value)
        return new

    def fuse(self, value: Value, *producers: Value, outputs: Sequence[Value] = (), kind: str | None = None) -> Value:
        """One flat fusion in the place of ``value``, which computes the ``producers`` inside; returns it.

        Fusions among them are opened, scalar constants move in, and an operand that two read is one parameter.  A
        producer that others read is computed twice; with ``outputs=[producer]`` the fusion gives it as well, as an
        element of a tuple behind ``value``.  ``kind`` is by default ``kInput`` if one of them has it, else ``kLoop``;
        ``"call"`` writes a call.  The metadata of ``value`` stay, backend configs go.  :func:`~hlomap.fuse` writes the
        same fusion as a module.

        Raises :class:`~hlomap.errors.ShapeError` for Values of several computations, a producer that none of the others
        reads, and outputs that make a cycle.

        >>> x = b.parameter(0, "f32[3]", "x")
        >>> y = b.exp(x)
        >>> b.fuse(-y, y)
        <Value negate_fusion: f32[3]>
        """
        scope = as_value("value", value)._scope
        returned = [as_value("outputs", one) for one in items("outputs", outputs, "a sequence of Values")]
        call = f"hm.Builder.{call_text('fuse', value, map(_checked, producers), returned)}"
        if not producers:
            raise TypeError(f"{call}: expected at least one producer")
        for one in (value, *producers, *returned):
            edits = self._edits("producers", one)
            if one._scope is not scope:
                raise ShapeError(f"{call}: {value.name} is in {scope.name}, {one.name} in {one._scope.name}")
            if one in edits.removed:
                raise ShapeError(f"{call}: {one.name} was replaced")
        group = check_group(value, producers, returned, kind, self.users, "Builder.fuse")
        group.sort(key=lambda one: one.position)
        fusion = self._merged(call, group, [value, *returned], kind)
        outs = [fusion]
        if returned:
            elements = enumerate((value, *returned))
            outs = [
                self._placed(value, "get-tuple-element", one.shape, "get-tuple-element", (fusion,), {"index": str(k)})
                for k, one in elements
            ]
        for one, new in zip((value, *returned), outs, strict=True):
            self._redirect(one, new)
            self._remove(one)
        for one in reversed(group):
            if one not in edits.removed and one is not scope.root and not self.users(one):
                self._redirect(one, fusion)
                self._remove(one)
        return fusion

    # What follows holds the module.

    def _hold(self, module: Module) -> None:
        """Opens a module."""
        self._module = module
        self._finish = self._edited_module
        self.name: str = module.name
        self._names.discard("main")
        names = _core._all_names(module)
        self._names.update(names)
        self._computation_names = names[module.n_instructions :]
        entry = Scope(self._computation_names[module.entry.number])
        self._load(entry, module.entry)
        self._scopes = [entry]

    def _load(self, scope: Scope, computation: Computation) -> None:
        """Makes Values of the instructions of a computation."""
        with _without_collections():
            self._load_rows(scope, computation)

    def _load_rows(self, scope: Scope, computation: Computation) -> None:
        scope.computation = computation
        builder, values = cast("Builder", self), scope.values
        rows = _core._rows(computation)
        start = computation.instructions[0].number
        new = _HeldValue.__new__
        is_sorted = True
        before: list[tuple[int, tuple[int, ...]]] = []
        for position, (name, shape, opcode, literal, operands, after) in enumerate(rows):
            value = new(_HeldValue)
            value.__dict__ = {
                "builder": builder,
                "_scope": scope,
                "name": name,
                "shape": shape,
                "opcode": opcode,
                "literal": literal,
                "annotations": {},
                "position": position,
                "number": start + position,
                "is_changed": False,
            }
            values.append(value)
            if after:
                before.append((position, after))
            is_sorted = is_sorted and (not operands or max(operands) < position)
        for made, row in zip(values, rows, strict=True):
            made.operands = tuple([values[k] for k in row[4]])
        module = computation.module

        def first_users(value: Value) -> Iterator[Value]:
            if value.number is not None:
                for user in module.instruction(value.number).users:
                    yield values[user.number - start]

        edits = scope.edits = State(first_users=first_users, is_sorted=is_sorted)
        for position, after in before:
            for k in after:
                edits.followers.setdefault(values[k], {})[values[position]] = None
        for parameter in computation.parameters:
            scope.parameters[len(scope.parameters)] = values[parameter.number - start]
        scope.root = values[computation.root.number - start]

    def _value_of(self, instruction: Instruction) -> Value:
        """The Value of an instruction of the module."""
        scope = self._scope_of(instruction.computation)
        return scope.values[instruction.number - cast(int, scope.values[0].number)]

    def _scope_of(self, computation: Computation) -> Scope:
        is_entry = self._scopes[0].computation == computation
        return self._scopes[0] if is_entry else self._held_callee(computation).scope

    def _held_callee(self, computation: Computation) -> Callee:
        """A computation of the module, as instructions call it."""
        callee = self._held.get(computation.number)
        if callee is None:
            scope = Scope(self._computation_names[computation.number])
            self._load(scope, computation)
            assert scope.root is not None
            callee = self._held[computation.number] = Callee(scope.name, scope, scope.root)
        return callee

    def _attributes_of(self, value: Value) -> Mapping[str, Attribute]:
        """The attributes of an instruction of the module."""
        assert self._module is not None
        assert value.number is not None
        found: dict[str, Attribute] = {}
        instruction = self._module.instruction(value.number)
        for key in instruction.attributes:
            given = instruction.attributes[key]
            if isinstance(given, Computation):
                found[key] = self._held_callee(given)
            elif isinstance(given, tuple) and given and isinstance(given[0], Computation):
                found[key] = Callees([self._held_callee(one) for one in given])
            elif isinstance(given, tuple) and given and isinstance(given[0], Instruction):
                found[key] = Names(map(self._value_of, given))
            else:
                found[key] = cast(str, instruction.attributes.text(key))
        return found

    # What follows changes programs.

    def _edits(self, argument: str, value: object) -> State:
        """What edits know of the computation of a Value of this builder."""
        scope = as_value(argument, value)._scope
        assert isinstance(value, Value)
        if value.builder is not self:
            raise ShapeError(f"{value.name} belongs to another builder, {value.builder.name}")
        if scope.edits is None:
            scope.edits = State()
            for one in scope.values:
                for operand in one.operands:
                    scope.edits.users(operand)[one] = None
                for earlier in predecessors(one):
                    scope.edits.followers.setdefault(earlier, {})[one] = None
        return scope.edits

    def _placed(
        self,
        at: Value,
        name: str,
        shape: Shape,
        opcode: str,
        operands: tuple[Value, ...],
        attributes: Mapping[str, Attribute],
        literal: str = "",
    ) -> Value:
        """Writes an instruction at the position of another one."""
        self._scopes.append(at._scope)
        try:
            value = self._append(shape, opcode, operands, attributes, literal=literal, name=name)
        finally:
            self._scopes.pop()
        value.position = at.position
        edits = self._edits("value", at)
        edits.is_sorted &= all(operand.position <= value.position for operand in operands)
        for earlier in predecessors(value):
            edits.followers.setdefault(earlier, {})[value] = None
        return value

    def _redirect(self, old: Value, new: Value, above: set[Value] | None = None) -> bool:
        """Lets what reads ``old`` read ``new``, but for the Values ``above``; returns whether anything does."""
        scope, edits, kept = old._scope, self._edits("old", old), above or set()
        moved = [user for user in edits.users(old) if user not in kept and user not in edits.removed]
        for user in moved:
            user.operands = tuple([new if operand is old else operand for operand in user.operands])
            user.is_changed = True
            edits.is_sorted &= new.position <= user.position
            del edits.users(old)[user]
            edits.users(new)[user] = None
        following = [one for one in edits.followers.get(old, ()) if one not in kept and one not in edits.removed]
        for one in following:
            names = dict.fromkeys(new if earlier is old else earlier for earlier in predecessors(one))
            names.pop(one, None)
            one.annotations["control-predecessors"] = Names(names)
            one.is_changed = True
            edits.is_sorted &= new.position <= one.position
            del edits.followers[old][one]
            edits.followers.setdefault(new, {})[one] = None
        if scope.root is old:
            scope.root = new
            return True
        return bool(moved or following)

    def _remove(self, value: Value) -> None:
        """Takes a Value away that nothing reads any more."""
        edits = self._edits("value", value)
        edits.removed.add(value)
        for operand in value.operands:
            edits.users(operand).pop(value, None)

    def _merged(self, call: str, group: list[Value], outputs: list[Value], kind: str | None) -> Value:
        """The fusion of these instructions, in the place of the first output, which nothing reads yet."""
        callees: dict[Callee, int] = {}
        ids: dict[Value, int] = {}

        def id_of(value: Value) -> int:
            return ids.setdefault(value, len(ids))

        members = [(id_of(one), _row(one, id_of, callees, without_rows=True)) for one in group]
        inside: list[tuple[list[_Row], int]] = []
        while left := list(callees)[len(inside) :]:  # the rows of a computation add those that it calls
            for callee in left:
                inner = runnable(callee.scope)
                at = {value: k for k, value in enumerate(inner)}
                inside.append(([_row(value, at.__getitem__, callees) for value in inner], at[callee.value]))
        outside = [(k, _row(value, id_of, callees, is_bare=True)) for value, k in list(ids.items())]
        chosen = [ids[one] for one in outputs]
        try:
            operands, rows, root, fusion = _core._merge(members, outside, inside, chosen, kind, len(callees))
        except ShapeError as error:
            raise ShapeError(f"{call}: {error.args[0]}") from None
        by_id, called = list(ids), list(callees)
        scope = Scope(self._unique("fused_computation"))
        self._scopes.append(scope)
        try:
            values: list[Value] = []
            for name, shape, opcode, literal, inner_operands, fields, _ in rows:
                attributes = {key: _attribute(one, values, called) for key, one in fields}
                inputs = [values[k] for k in inner_operands]
                made = self._append(shape, opcode, inputs, attributes, literal=literal, name=name)
                if opcode == "parameter":
                    scope.parameters[int(literal)] = made
                values.append(made)
        finally:
            self._scopes.pop()
        called.append(Callee(scope.name, scope, values[root]))
        self._callees.append(called[-1])
        name, shape, opcode, _, _, fields, _ = fusion
        kept: dict[str, Attribute] = {key: _attribute(one, values, called) for key, one in fields}
        within = set(group)
        if before := dict.fromkeys(one for member in group for one in predecessors(member) if one not in within):
            kept["control-predecessors"] = Names(before)
        return self._placed(outputs[0], name, shape, opcode, tuple(by_id[k] for k in operands), kept)

    def _edited_module(self, root: Value, header: Mapping[str, Attribute]) -> Module:
        """The module that edits have made of the one that is held; ``root`` is that of its entry."""
        assert self._module is not None
        n = len(self._module.computations)
        new = {callee: n + k for k, callee in enumerate(self._callees)}
        loaded = [self._scopes[0], *(callee.scope for callee in self._held.values())]
        # Reading attributes loads further computations, which no edit touched.
        lines = {one.computation.number: _lines(one, new) for one in loaded if one.computation is not None}
        untouched = (lines.get(number, (number, "", None, 0)) for number in range(n))
        computations = [*untouched, *(_lines(callee.scope, new) for callee in self._callees)]
        entry, texts = self._module.entry.number, [(key, str(one)) for key, one in header.items()]
        keeps = "entry_computation_layout" in header
        try:
            return _core._assemble(self._module, computations, entry, texts, keeps)
        except HloSyntaxError as error:
            raise ShapeError(f"hm.Builder.build: the edited module is not valid: {error}") from error


@contextmanager
def _without_collections() -> Iterator[None]:
    """A block without garbage collections: they would visit the objects of a large program many times, and none is
    garbage yet."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _checked(value: object) -> Value:
    return as_value("producers", value)


def _callee_of(value: Value) -> Callee:
    """The computation that a fusion or call runs."""
    return next(one for one in value.written.values() if isinstance(one, Callee))


def _above(value: Value, below: Value) -> set[Value]:
    """A Value and those that it is computed from, as far as they may read ``below``."""
    edits = value._scope.edits
    lowest = below.position if edits is not None and edits.is_sorted else -1
    seen, pending = {value}, [value]
    while pending:
        for operand in pending.pop().operands:
            if operand not in seen and operand is not below and operand.position >= lowest:
                seen.add(operand)
                pending.append(operand)
    return seen


def _row(
    value: Value, position: Any, callees: dict[Callee, int], *, without_rows: bool = False, is_bare: bool = False
) -> _Row:
    """An instruction for the compiled module; ``callees`` collects and numbers the computations that it calls."""
    fields: list[tuple[str, _Field]] = []
    for key, one in {} if is_bare else value.written.items():
        if isinstance(one, Names):
            if not without_rows:
                fields.append((key, [position(earlier) for earlier in one]))
        elif isinstance(one, Callees):
            fields.append((key, tuple(callees.setdefault(each, len(callees)) for each in one.all)))
        elif isinstance(one, Callee):
            fields.append((key, callees.setdefault(one, len(callees))))
        else:
            fields.append((key, str(one)))
    operands = [] if is_bare else [position(operand) for operand in value.operands]
    return value.name, value.shape, value.opcode, value.literal, operands, fields, None


def _attribute(field: _Field, values: list[Value], callees: Sequence[Callee]) -> Attribute:
    """An attribute that the compiled module gives back."""
    if isinstance(field, str):
        return field
    if isinstance(field, int):
        return callees[field]
    if isinstance(field, tuple):
        return Callees([callees[k] for k in field])
    return Names(values[k] for k in field)


def _lines(scope: Scope, new: Mapping[Callee, int]) -> tuple[int | None, str, list[int | _Row] | None, int]:
    """A computation for the compiled module: the number of an instruction that no edit touched, else its row.

    ``new`` has the numbers of computations that the module does not have.
    """
    values = ordered(scope)
    computation = scope.computation.number if scope.computation is not None else None
    at = {value: k for k, value in enumerate(values)}
    lines: list[int | _Row] = []
    for value in values:
        if value.number is not None and not value.is_changed:
            lines.append(value.number)
            continue
        callees: dict[Callee, int] = {}
        name, shape, opcode, literal, operands, fields, _ = _row(value, at.__getitem__, callees)
        known = [one.scope.computation.number if one.scope.computation else new[one] for one in callees]
        renumbered: list[tuple[str, _Field]] = []
        for key, one in fields:
            if isinstance(one, int):
                one = known[one]
            elif isinstance(one, tuple):
                one = tuple(known[k] for k in one)
            renumbered.append((key, one))
        lines.append((name, shape, opcode, literal, operands, renumbered, value.number))
    assert scope.root is not None
    return computation, scope.name, lines, at[scope.root]
