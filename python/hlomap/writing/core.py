"""The state of what writes a module and everything that its methods share: Values, instructions, computations.

`inference` asks the reader of HLO text for every shape that operands and attributes determine, and the reader checks
the rules of the operation; a method checks only what the reader cannot see or does not explain.  No operation is
defined here besides parameters, constants and tuples.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, cast

from .. import _core
from .._core import Layout, Metadata, Module, Shape, Sharding
from ..base import dtypes
from ..base.lazy import np
from ..errors import HlomapError, HloSyntaxError, ShapeError
from .arguments import as_shape, at_least, described, invalid, items, shown, text, wrong_type
from .attributes import Attribute, Frontend, Names, attribute_texts
from .constants import as_array, element_kind, kinds_text, literal_text
from .inference import concerns_others, infer_shape
from .naming import NamesMethods, method, method_named
from .values import Callee, Function, Scope, ShapeLike, Value

if TYPE_CHECKING:
    from ..builder.builder import Builder
    from .operands import Operand


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_MAX_DEPTH = 100  # The reader rejects shapes of tuples that nest deeper.
# XLA's parser does not accept these as names, whatever precedes them.
_RESERVED = {"token", "opaque", "true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT", "maximal", "replicated"}
_RESERVED |= {"manual", "last_tile_dim_replicate", "shard_as", "shard_like", "unknown", *dtypes.element_types()}


class Core(NamesMethods):
    """The base of :class:`Builder`, of the mixins with its methods by kind, and of definitions of library calls."""

    _value_class: ClassVar[type[Value]] = Value

    def __init__(self, name: str) -> None:
        """A builder of a module called ``name``."""
        self.name: str = self._checked_name(name)
        if name in _RESERVED:
            raise HloSyntaxError(f"{method()}: name={name!r}: a reserved word of HLO text, which XLA rejects as a name")
        self._scopes = [Scope("main")]
        self._callees: list[Callee] = []
        self._named_callees: dict[tuple[str, tuple[str, ...]], Callee] = {}
        self._names: set[str] = {"main", *_RESERVED}
        self._suffixes: dict[str, int] = {}
        self._annotating: list[tuple[Scope, Mapping[str, Any]]] = []
        self._is_strict = True
        self._by_name: dict[str, Value] = {}
        self._renamed: set[Value] = set()
        self._finish: Callable[[Value, Mapping[str, Attribute]], Module] = self._written_module

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises ``TypeError``: functions and ``with`` blocks may be in the middle of writing to a builder."""
        raise TypeError("a Builder cannot be pickled or copied: pickle the Module that Builder.build returns")

    def __repr__(self) -> str:
        return f"<Builder {self.name}: {len(self._scopes[0].values)} instructions>"

    def build(self, root: Operand | Sequence[Operand] | None = None, **header: Any) -> Module:
        """The module whose entry returns ``root``, or a tuple of several values.

        Instructions keep the order in which they were written, unused ones included.  A builder of :func:`~hlomap.edit`
        keeps the root and what no edit touched, see there.  Keywords are attributes of the
        module's header, such as ``entry_computation_layout`` (a pair of the parameters' shapes and the result's shape),
        ``input_output_alias`` or ``num_partitions``.  Raises :class:`~hlomap.errors.ShapeError` if parameter numbers
        have gaps or a computation is unfinished.  The builder remains usable.

        >>> x = b.parameter(0, "f32[3]", "x")
        >>> print(b.build(-x))
        HloModule m
        <BLANKLINE>
        ENTRY %main (x: f32[3]) -> f32[3] {
          %x = f32[3] parameter(0)
          ROOT %negate = f32[3] negate(%x)
        }
        <BLANKLINE>
        """
        if len(self._scopes) > 1:
            raise invalid("root", root, f"computation {self._scopes[-1].name} is not finished")
        attributes = attribute_texts("module", header)
        scope = self._scopes[0]
        if root is not None:
            scope.root = self._packed("root", root)
        if scope.root is None:
            raise wrong_type("root", root, "a Value, or a sequence of Values")
        return self._finish(scope.root, attributes)

    def _written_module(self, root: Value, header: Mapping[str, Attribute]) -> Module:
        """The module of what was written."""
        source = self._source(root, header)
        module = _core.parse_text(source)[0]
        if self._is_strict and not all(map(concerns_others, module.diagnostics)):
            return _core.parse_text(source, None, True)[0]  # Raises.
        return module

    def parameter(self, number: int, shape: ShapeLike, name: str | None = None) -> Value:
        """Parameter ``number`` of the entry.  ``shape`` is a :class:`Shape` or its text, such as ``"f32[2,3]"``.

        >>> print(b.parameter(0, "f32[2,3]", "x"))
        x = f32[2,3] parameter(0)
        >>> b.parameter(0, "f32[]")
        Traceback (most recent call last):
        hlomap.errors.ShapeError: hm.Builder.parameter: number=0: parameter 0 already exists, x
        """
        index = at_least("number", number, 0)
        if index in self._scopes[-1].parameters:
            existing = self._scopes[-1].parameters[index].name
            raise invalid("number", index, f"parameter {index} already exists, {existing}")
        return self._parameter(index, as_shape(shape), name)

    def constant(self, value: Any, dtype: str | None = None, name: str | None = None) -> Value:
        """A constant from a number, a list of numbers or an array, with the element type ``dtype``.

        Without ``dtype`` NumPy arrays and scalars keep their type; Python numbers, and lists of them, become pred, s32,
        f32 or c64.  Raises :class:`~hlomap.errors.ShapeError` if a number does not fit the type.

        >>> print(b.constant([[1, 2], [3, 4]], "bf16"))
        constant = bf16[2,2] constant({{1.0, 2.0}, {3.0, 4.0}})
        >>> b.constant(300, "u8")
        Traceback (most recent call last):
        hlomap.errors.ShapeError: hm.Builder.constant: value=300: does not fit in u8
        """
        array, element = as_array(value, dtype)
        return self._append(Shape(element, array.shape), "constant", literal=literal_text(array, element), name=name)

    def computation(self, function: Function, parameters: Sequence[ShapeLike], name: str | None = None) -> Callee:
        """The computation that ``function`` writes when it is called with one Value for each parameter's shape.

        The function returns a Value, or several for a tuple.  It may use its parameters and the values it derives from
        them, but no Value from outside.  ``function`` may also be the name of a common computation (``add mul max min
        and or xor lt le gt ge eq ne``) or an existing :class:`Callee`.  Methods that take a function call this.

        >>> b.computation("max", ["s32[]", "s32[]"])
        <Callee max_s32: (s32[], s32[]) -> s32[]>
        """
        given = items("parameters", parameters, "a sequence of shapes")
        shapes = [as_shape(shape) for shape in given]
        return self._callee("function", function, shapes, name)

    @contextmanager
    def annotating(
        self,
        *,
        sharding: Sharding | str | None = None,
        metadata: Metadata | Mapping[str, Any] | None = None,
        frontend_attributes: Mapping[str, str] | None = None,
    ) -> Iterator[None]:
        """A ``with`` block that sets these attributes on its instructions, as :meth:`Value.annotated` does for one.

        Blocks nest; for each keyword the innermost block wins.  Instructions inside called computations are not
        annotated.  A sharding must fit every instruction of the block, broadcast constants included.

        >>> with b.annotating(metadata={"op_name": "model/sum"}):
        ...     total = b.reduce(b.iota("f32[4]"), 0.0, "add")
        >>> print(total)
        reduce = f32[] reduce(iota, constant), dimensions={0}, to_apply=%add_f32, metadata={op_name="model/sum"}
        """
        given = {"sharding": sharding, "metadata": metadata, "frontend_attributes": frontend_attributes}
        present = {key: value for key, value in given.items() if value is not None}
        with method_named("annotating"):
            attribute_texts("tuple", present)
        self._annotating.append((self._scopes[-1], present))
        try:
            yield
        finally:
            self._annotating.pop()

    # The rest serves the methods of the mixins.  ``argument`` is what messages call a value.

    def _emit(self, opcode: str, operands: Sequence[Value], shape: Shape | None = None, /, **given: Any) -> Value:
        """Writes an instruction; the reader infers its shape, or checks ``shape`` where it cannot.

        The attributes ``given`` are Python values of the forms of :mod:`.attributes`; None is left out.
        """
        attributes = attribute_texts(opcode, given)
        for operand in operands:
            self._check_scope(operand)
        inferred, problem = infer_shape(opcode, operands, attributes, shape)
        if inferred is None:
            named = ", ".join(map(described, operands))
            texts = "".join(f", {key}={value}" for key, value in attributes.items())
            to = f" to {shape}" if shape is not None else ""
            raise ShapeError(f"{method()}({named}{texts}){to}: {problem}")
        return self._append(inferred if shape is None else shape, opcode, operands, attributes)

    def _source(self, root: Value, header: Mapping[str, Attribute]) -> str:
        """The text of the module whose entry returns ``root``."""
        scope = self._scopes[0]
        _check_parameter_numbers(scope)
        texts = [_computation_text(callee.scope, callee.value, "") for callee in self._callees]
        head = "".join([f"HloModule {self.name}", *(f", {key}={text}" for key, text in header.items())])
        return "\n\n".join([head, *texts, _computation_text(scope, root, "ENTRY ")]) + "\n"

    def _parameter(self, number: int, shape: Shape, name: str | None = None) -> Value:
        """A parameter of the computation that is being written."""
        value = self._append(shape, "parameter", literal=str(number), name=name)
        self._scopes[-1].parameters[number] = value
        return value

    def _append(
        self,
        shape: Shape,
        opcode: str,
        operands: Sequence[Value] = (),
        attributes: Mapping[str, Attribute] | None = None,
        *,
        literal: str = "",
        name: str | None = None,
    ) -> Value:
        """Writes an instruction as it is, unchecked."""
        scope = self._scopes[-1]
        builder = cast("Builder", self)  # Values of a program belong to one.
        name = self._unique(self._checked_name(name) if name else opcode)
        value = self._value_class(builder, scope, name, shape, opcode, tuple(operands), attributes or {}, literal)
        for annotated_scope, given in self._annotating:
            if annotated_scope is scope:
                with method_named("annotating"):
                    self._annotate(value, given)
        scope.values.append(value)
        self._by_name[name] = value
        if scope.edits is not None:
            self._note_edit(scope, value)
        return value

    def _rename(self, value: Value, name: str) -> None:
        """Gives a Value this name, or the name with a number if it is taken."""
        old, base = value.name, self._checked_name(name)
        is_numbered = old.startswith(f"{base}.") and old[len(base) + 1 :].isdecimal()
        if old == base or (is_numbered and base in self._names):
            return
        value.name = self._unique(base)
        if value._scope.edits is None and self._by_name.get(old) is value:
            del self._by_name[old]
            self._names.discard(old)
        value.is_changed = True
        self._renamed.add(value)
        self._by_name[value.name] = value

    def _note_edit(self, scope: Scope, value: Value) -> None:
        """Notes an instruction that is written in a computation that is being edited: it comes behind its operands."""
        edits = scope.edits
        assert edits is not None
        value.position = max((operand.position for operand in value.operands), default=-1)
        for operand in value.operands:
            edits.users(operand)[value] = None

    def _check_scope(self, value: Value) -> None:
        """Checks that a Value belongs to the computation that is being written."""
        if value.builder is not self:
            raise invalid("operand", value.name, f"belongs to another builder, {value.builder.name}")
        if value._scope is not self._scopes[-1]:
            here = self._scopes[-1].name
            rule = f"belongs to computation {value._scope.name}, not to {here}: pass it as a parameter"
            raise invalid("operand", value.name, rule)
        if value._scope.edits is not None and value in value._scope.edits.removed:
            raise invalid("operand", value.name, "was replaced, or became a part of a fusion")

    def _value(self, argument: str, operand: Any, like: str | None = None) -> Value:
        """An operand as a Value; a Python number becomes a constant of element type ``like``."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, (bool, int, float, complex)) or (like is None and isinstance(operand, list)):
            array, element = as_array(operand, like, argument)
        elif isinstance(operand, (np.ndarray, np.generic)):
            array, element = as_array(operand, None, argument)
        else:
            raise wrong_type(argument, operand, "a Value, a number or a NumPy array")
        return self._append(Shape(element, array.shape), "constant", literal=literal_text(array, element))

    def _array(self, argument: str, operand: Any, like: str | None = None) -> Value:
        value = self._value(argument, operand, like)
        if not value.shape.is_array:
            raise invalid(argument, described(value), "expected an array")
        return value

    def _array_of(self, argument: str, operand: Any, kinds: str, like: str | None = None) -> Value:
        """An operand that is an array with an element type of one of these kinds."""
        value = self._array(argument, operand, like)
        if element_kind(value.dtype) not in kinds.split():
            raise invalid(argument, described(value), f"expected {kinds_text(kinds, 'or')}")
        return value

    def _arrays(self, argument: str, operands: Any) -> list[Value]:
        """One array or a sequence of at least one."""
        if isinstance(operands, (list, tuple)):
            if not operands:
                raise invalid(argument, operands, "expected at least one")
            return [self._array(argument, operand) for operand in operands]
        return [self._array(argument, operands)]

    def _values(self, argument: str, operands: Any) -> list[Value]:
        """A sequence of operands as Values."""
        given = items(argument, operands, "a sequence of operands")
        return [self._value(argument, operand) for operand in given]

    def _packed(self, argument: str, operand: Any, depth: int = 0) -> Value:
        """An operand as a Value; a nest of lists becomes a nest of tuple instructions."""
        if isinstance(operand, (list, tuple)):
            if depth > _MAX_DEPTH:
                raise invalid(argument, "a list", f"nested more than {_MAX_DEPTH} deep")
            parts = [self._packed(argument, part, depth + 1) for part in operand]
            return self._emit("tuple", parts)
        value = self._value(argument, operand)
        self._check_scope(value)
        return value

    def _callee(self, argument: str, function: Any, parameters: Sequence[Shape], name: str | None = None) -> Callee:
        """The computation that an argument stands for, with parameters of these shapes."""
        shapes = [shape.without_layout() for shape in parameters]
        wanted = ", ".join(map(str, shapes))
        if isinstance(function, Callee):
            if list(map(Shape.without_layout, function.parameters)) != shapes:
                raise invalid(argument, repr(function), f"expected a computation with parameters ({wanted})")
            return function
        if isinstance(function, str):
            return self._common_callee(argument, function, shapes, name)
        if not callable(function) or isinstance(function, Value):
            raise wrong_type(argument, function, "a function, the name of a computation or a Callee")
        if not _accepts(function, len(shapes)):
            called = getattr(function, "__name__", repr(function))
            n = f"{len(shapes)} parameter{'s' * (len(shapes) != 1)}"
            raise invalid(argument, called, f"expected a function of {n}, ({wanted})")
        own_name = getattr(function, "__name__", "")
        if not _NAME.fullmatch(own_name):
            own_name = f"{method().strip('_')}_computation"
        return self._written(function, shapes, name or own_name)

    def _written(self, function: Callable[..., Any], shapes: Sequence[Shape], name: str) -> Callee:
        """The computation that a function of Values writes."""
        scope = Scope(self._unique(self._checked_name(name)))
        self._scopes.append(scope)
        try:
            letters = itertools.chain("abcdefgh", (f"p{n}" for n in itertools.count(8)))
            arguments = [
                self._parameter(number, shape, f"{letter}.{scope.name}")
                for (number, shape), letter in zip(enumerate(shapes), letters, strict=False)
            ]
            root = self._packed("root", function(*arguments))
            _check_parameter_numbers(scope)
        finally:
            self._scopes.pop()
        callee = Callee(scope.name, scope, root)
        self._callees.append(callee)
        return callee

    def _common_callee(self, argument: str, word: str, shapes: Sequence[Shape], name: str | None) -> Callee:
        """A computation of two parameters by its name, written once for each signature."""
        key = (word, tuple(map(str, shapes)))
        if key not in self._named_callees:
            if word not in _COMMON:
                raise invalid(argument, repr(word), f"expected a function or one of {', '.join(_COMMON)}")
            if len(shapes) != 2:
                raise invalid(argument, repr(word), f"takes 2 parameters, not {len(shapes)}")
            label = name or f"{word}_{shapes[0].dtype}"
            self._named_callees[key] = self._written(getattr(self, _COMMON[word]), shapes, label)
        return self._named_callees[key]

    def _reducer(self, argument: str, function: Any, scalars: Sequence[Shape]) -> Callee:
        """A computation that combines two values of each of these shapes into one."""
        callee = self._callee(argument, function, [*scalars, *scalars])
        wanted = scalars[0] if len(scalars) == 1 else Shape.tuple(list(scalars))
        if callee.root.without_layout() != wanted:
            raise invalid(argument, repr(callee), f"expected a computation that returns {wanted}")
        return callee

    def _annotate(self, value: Value, given: Mapping[str, Any]) -> None:
        texts = attribute_texts("tuple", given)
        predecessors, own = texts.get("control-predecessors"), value.attributes.get("frontend_attributes")
        for earlier in predecessors if isinstance(predecessors, Names) else ():
            is_later = value._scope.edits is None and earlier.position >= value.position
            if earlier._scope is not value._scope or is_later:
                rule = f"expected a Value of {value._scope.name} that was written before {value.name}"
                raise invalid("control_predecessors", earlier.name, rule)
        if sharding := texts.get("sharding"):
            call = {"custom_call_target": '"any"', "sharding": sharding}
            _, problem = infer_shape("custom-call", [], call, value.shape)
            if problem:
                raise invalid("sharding", sharding, problem)
        frontend = texts.get("frontend_attributes")
        if isinstance(own, Frontend) and isinstance(frontend, Frontend):
            texts["frontend_attributes"] = Frontend({**frontend, **own})
        value.annotations.update(texts)
        if isinstance(predecessors, Names) and value._scope.edits is not None:
            for earlier in predecessors:
                value._scope.edits.followers.setdefault(earlier, {})[value] = None

    def _with_layout(self, value: Value, layout: Layout | Shape | str) -> Shape:
        """The shape of a value with another layout; ``layout`` is a whole shape for a tuple."""
        try:
            if isinstance(layout, str):
                layout = Layout.parse(layout) if layout.startswith("{") else Shape.parse(layout)
            made = value.shape.with_layout(layout) if isinstance(layout, Layout) else layout
        except (HlomapError, ValueError) as error:
            raise invalid("layout", shown(layout), f"{described(value)}: {error}") from None
        if not isinstance(made, Shape):
            raise wrong_type("layout", made, "a Layout, a Shape or the text of one")
        if not made.equals(value.shape, layout="ignored"):
            raise invalid("layout", made, f"expected {value.shape.without_layout()} with layouts")
        return made

    def _checked_name(self, name: Any) -> str:
        if not _NAME.fullmatch(text("name", name)):
            rule = "expected letters, digits, '_', '.' and '-', starting with a letter or '_'"
            raise HloSyntaxError(f"{method()}: name={name!r}: {rule}")
        return str(name)

    def _unique(self, base: str) -> str:
        """``base``, or ``base.1``, ``base.2``, … if that name is taken."""
        name = base
        while name in self._names:
            number = self._suffixes[base] = self._suffixes.get(base, 0) + 1
            name = f"{base}.{number}"
        self._names.add(name)
        return name


# The methods that write the common computations, by the names of these.
_COMMON = {name: name for name in ("add", "mul", "max", "min", "xor", "lt", "le", "gt", "ge", "eq", "ne")}
_COMMON |= {"and": "and_", "or": "or_", "multiply": "mul", "maximum": "max", "minimum": "min"}


def _check_parameter_numbers(scope: Scope) -> None:
    numbers = sorted(scope.parameters)
    if numbers != list(range(len(numbers))):
        raise invalid("parameters", numbers, "parameter numbers must be 0, 1, … without gaps")


def _accepts(function: Callable[..., Any], n: int) -> bool:
    """Whether a function accepts ``n`` arguments, as far as its signature is known."""
    try:
        inspect.signature(function).bind(*range(n))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def ordered(scope: Scope) -> list[Value]:
    """The instructions of a computation that are left, in the order of their positions."""
    if scope.edits is None:
        return scope.values
    removed = scope.edits.removed
    return sorted((value for value in scope.values if value not in removed), key=lambda value: value.position)


def predecessors(value: Value) -> Sequence[Value]:
    """The control predecessors of an instruction."""
    before = value.written.get("control-predecessors")
    return before if isinstance(before, Names) else ()


def runnable(scope: Scope) -> list[Value]:
    """The instructions of a computation, each after those that it needs; otherwise in the order of their positions."""
    values = ordered(scope)
    if scope.edits is None or scope.edits.is_sorted:
        return values
    done: dict[Value, None] = {}
    opened: set[Value] = set()
    pending = values[::-1]
    while pending:
        value = pending[-1]
        if value in done:
            pending.pop()
        elif value in opened:
            done[value] = None
        else:
            opened.add(value)
            pending += reversed([*value.operands, *predecessors(value)])
    return list(done)


def _computation_text(scope: Scope, root: Value, head: str) -> str:
    lines = []
    for value in runnable(scope):
        operands = value.literal or ", ".join([f"%{operand.name}" for operand in value.operands])
        attributes = "".join([f", {key}={text}" for key, text in value.written.items()])
        mark = "ROOT " if value is root else ""
        lines.append(f"  {mark}%{value.name} = {value.shape} {value.opcode}({operands}){attributes}")
    return "\n".join([f"{head}%{scope.name} {{", *lines, "}"])
