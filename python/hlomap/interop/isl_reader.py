"""Reads relations in the notation of isl as indexing maps.

Read :func:`from_isl`.  It accepts one conjunction of affine conditions with floor divisions: the texts of
:func:`hlomap.interop.isl.to_isl`, and those that isl prints for one basic map.  Unions (``or``, ``;``, ``!=``, ``not``)
are errors.  The grammar is that of isl: ``mod`` binds tighter than a factor before it, so ``2*i mod 4`` is
``2*(i mod 4)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import lcm
from typing import NamedTuple, NoReturn

from .._core import Expr, IndexingMap
from ..errors import MapError, MapSyntaxError, SizeError
from ._expressions import split_constant
from ._intervals import Interval
from ._relation import Relation, UnboundedError
from .isl import KEYWORDS

__all__ = ["from_isl"]

# Deriving bounds takes time that grows with the product of both.
_MAX_VARIABLES = 100
_MAX_CONDITIONS = 500

_MAX_NESTING = 80
_MAX_DIGITS = 40
_MAX_LIST = 100


def from_isl(text: str) -> IndexingMap:
    """The map of a relation; see :meth:`hlomap.IndexingMap.from_isl`.

    >>> print(from_isl("{ [i] -> [o, i - 8o] : 0 <= i <= 31 and i - 7 <= 8o <= i }"))
    (i) -> (i floordiv 8, i - (i floordiv 8) * 8), domain: i in [0, 31]
    """
    reader = _Reader(text)
    try:
        relation = reader.relation()
    except (SizeError, MapError) as error:
        reader.fail("an expression that can be formed", str(error))
    try:
        return relation.to_map()
    except UnboundedError as error:
        token = reader.declared[error.name]
        reader.fail("finite bounds of every variable", f"'{token.text}' without them", token)


class _Value(NamedTuple):
    """The rational number ``(expr + constant) / denominator``; the expression has no constant summand.

    The constants of a condition may exceed 64 bits, as long as its bounds do not.
    """

    expr: Expr
    constant: int = 0
    denominator: int = 1

    @staticmethod
    def of(expr: Expr) -> _Value:
        """The value of an expression."""
        return _Value(*split_constant(expr))

    def times(self, factor: int) -> _Value:
        """The multiple by an integer."""
        return _Value(self.expr * factor, self.constant * factor, self.denominator)

    def plus(self, other: _Value) -> _Value:
        """The sum."""
        denominator = lcm(self.denominator, other.denominator)
        a, b = self.times(denominator // self.denominator), other.times(denominator // other.denominator)
        return _Value(a.expr + b.expr, a.constant + b.constant, denominator)

    def divided(self, divisor: int) -> _Value:
        """The quotient by a positive integer."""
        return self._replace(denominator=self.denominator * divisor)

    def floor(self) -> _Value:
        """The largest integer that is not above the value."""
        return _Value.of((self.expr + self.constant) // self.denominator)

    def ceil(self) -> _Value:
        """The smallest integer that is not below the value."""
        return self.times(-1).floor().times(-1)


_ZERO = Expr.constant(0)


class _Token(NamedTuple):
    text: str
    start: int

    @property
    def word(self) -> str:
        """The text; of a keyword, which may have any case, in lower case."""
        lower = self.text.lower()
        return lower if lower in KEYWORDS else self.text

    @property
    def is_name(self) -> bool:
        return bool(_NAME.match(self.text)) and self.text.lower() not in KEYWORDS

    @property
    def is_integer(self) -> bool:
        return self.text[:1].isdecimal()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*'*$")
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*'*|[0-9]+|->|<=|>=|==|!=|&&|\|\||\S|$)", re.ASCII)
_COMPARISONS = ("<", "<=", "=", "==", ">=", ">", "!=")
_FUNCTIONS = ("ceil", "ceild", "floor", "floord", "max", "min")


def _tokens(text: str) -> tuple[list[_Token], set[int]]:
    """The tokens, and the numbers of the opening parentheses around conditions; other ones are around expressions."""
    tokens: list[_Token] = []
    of_conditions: set[int] = set()
    open_ones: list[int] = []
    for found in _TOKEN.finditer(text):
        token = _Token(found[1], found.start(1))
        if token.text == "(":
            open_ones.append(len(tokens))
        elif token.text == ")" and open_ones:
            open_ones.pop()
        elif token.word in (*_COMPARISONS, "true", "false"):
            # If a parenthesis is known to be around a condition, so are those around it.
            for i in reversed(open_ones):
                if i in of_conditions:
                    break
                of_conditions.add(i)
        tokens.append(token)
        if not token.text:
            break
    return tokens, of_conditions


class _Reader:
    """A recursive-descent parser that collects the conditions of a :class:`Relation`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens, self.of_conditions = _tokens(text)
        self.at = 0
        self.nesting = 0
        self.values: dict[str, _Value] = {}
        self.declared: dict[str, _Token] = {}
        self.found = Relation()

    @property
    def token(self) -> _Token:
        """The current token; the one after the text is empty."""
        return self.tokens[self.at]

    def advance(self) -> _Token:
        """The current token, and on to the next."""
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *words: str) -> bool:
        """Whether the current token is one of these; then on to the next."""
        found = self.token.word in words
        if found:
            self.advance()
        return found

    def expect(self, word: str, expected: str = "") -> None:
        """The next token has to be this one."""
        if not self.take(word):
            self.fail(expected or f"'{word}'")

    def fail(self, expected: str, found: str = "", token: _Token | None = None) -> NoReturn:
        """Raises the error of a token, the current one by default."""
        token = token or self.token
        shown = token.text if len(token.text) <= 40 else token.text[:40] + "…"
        found = found or (f"'{shown}'" if shown else "the end of the text")
        before = self.text[: token.start].split("\n")
        after = self.text[token.start :].split("\n", 1)[0][:40]
        snippet = "".join(c if c.isprintable() else " " for c in before[-1][-60:] + after)
        caret = " " * len(before[-1][-60:]) + "^"
        line, column = len(before), len(before[-1]) + 1
        raise MapSyntaxError(
            f"line {line}, column {column}: expected {expected}, found {found}\n  {snippet}\n  {caret}",
            line=line,
            column=column,
        )

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Counts a level of nesting."""
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            self.fail(f"at most {_MAX_NESTING} levels of nesting", "one more")
        yield
        self.nesting -= 1

    # ------------------------------------------------------------------------------------------------------ tuples

    def relation(self) -> Relation:
        """``[n] -> { [i] -> [j] : conditions }``."""
        if self.take("["):
            for _ in self.items("]"):
                name = self.name()
                self.values[name] = self.declare(name, self.found.runtime, Expr.runtime)
            self.expect("->")
        self.expect("{")
        self.inputs()
        self.expect("->", "'->' and the tuple of the results")
        self.outputs()
        if self.take(":") and self.token.text != "}":
            self.conjunction()
        self.expect("}", "'and' or '}'; unions cannot be read")
        if self.token.text:
            self.fail("the end of the text")
        return self.found

    def name(self) -> str:
        """A name that has no value here."""
        if not self.token.is_name or self.token.text in self.values:
            self.fail("a new name")
        return self.advance().text

    def declare(self, name: str, names: list[str], make: Callable[[int], Expr]) -> _Value:
        """A new variable of the kind whose names and expressions are given."""
        if len(self.found.dims) + len(self.found.ranges) + len(self.found.runtime) >= _MAX_VARIABLES:
            self.fail(f"at most {_MAX_VARIABLES} variables", "one more")
        self.declared[name] = self.tokens[max(self.at - 1, 0)]
        names.append(name)
        return _Value(make(len(names) - 1))

    def items(self, end: str) -> Iterator[None]:
        """Counts the items of a list with commas, until its end, which it takes."""
        while not self.take(end):
            yield
            if not self.take(",") and self.token.text != end:
                self.fail(f"an operator, ',' or '{end}'")

    def tuple_items(self) -> Iterator[tuple[str | None, _Value | None]]:
        """The items of a tuple: each declares a name, or has a value, or both.  The name of the tuple is dropped."""
        if self.token.is_name:
            self.advance()
        self.expect("[")
        for _ in self.items("]"):
            if self.token.text == "[":
                self.fail("a flat tuple")
            name, value = None, None
            if self.token.is_name and self.token.text not in self.values:
                name = self.name()
                if self.token.text not in (",", "]", "="):
                    self.at -= 1
                    self.fail("a variable that is declared before")
            if name is None or self.take("="):
                value = self.integer()
            yield name, value

    def inputs(self) -> None:
        """The tuple of the dims; one with a value is constrained to it."""
        for name, value in self.tuple_items():
            dim = self.declare(name or f"#{len(self.found.dims)}", self.found.dims, Expr.dim)
            if value is not None:
                self.relate(dim, "=", value)
            if name is not None:
                self.values[name] = dim

    def outputs(self) -> None:
        """The tuple of the results; a new name without a value is a range variable."""
        for name, value in self.tuple_items():
            if value is None:
                assert name is not None, "an item has a name or a value"
                value = self.declare(name, self.found.ranges, Expr.range)
            if name is not None:
                self.values[name] = value
            self.found.results.append(value.expr + value.constant)

    # -------------------------------------------------------------------------------------------------- conditions

    def conjunction(self) -> None:
        """``condition and condition and …``."""
        self.condition()
        while self.take("and", "&&"):
            self.condition()

    def condition(self) -> None:
        """A comparison, ``exists (…)``, a truth value, or a conjunction in parentheses."""
        if self.take("exists"):
            with self.nested():
                self.exists()
        elif self.take("false"):
            self.found.is_empty = True
        elif self.token.text == "(" and self.at in self.of_conditions:
            with self.nested():
                self.advance()
                self.conjunction()
            self.expect(")", "'and' or ')'")
        elif self.token.word in ("not", "!"):
            self.fail("a condition without negation")
        elif not self.take("true"):
            self.comparison()

    def exists(self) -> None:
        """``(a, b = floor(i/2): conditions)``; the parentheses may be missing."""
        has_parentheses = self.take("(")
        hidden = []
        for _ in self.items(":"):
            name = self.name()
            value = self.integer() if self.take("=") else self.declare(name, self.found.ranges, Expr.range)
            self.values[name] = value
            hidden.append(name)
        self.conjunction()
        for name in hidden:
            del self.values[name]
        if has_parentheses:
            self.expect(")", "'and' or ')'")

    def comparison(self) -> None:
        """``0 <= i, j < n``: each value of a list is compared with each of the next."""
        left = self.values_of_list()
        if self.token.text not in _COMPARISONS:
            self.fail("an operator or a comparison")
        while self.token.text in _COMPARISONS:
            if self.token.text == "!=":
                self.fail("a comparison other than '!='")
            operator = self.advance().text
            right = self.values_of_list()
            for a in left:
                for b in right:
                    self.relate(a, operator, b)
            left = right

    def values_of_list(self) -> list[_Value]:
        """``i, j + 1``."""
        values = [self.sum()]
        while self.take(","):
            if len(values) == _MAX_LIST:
                self.fail(f"at most {_MAX_LIST} values in a list", "one more")
            values.append(self.sum())
        return values

    def relate(self, a: _Value, operator: str, b: _Value) -> None:
        """Adds the condition that a comparison holds."""
        if operator[0] == ">":
            a, b = b, a
        slack = 1 if operator in ("<", ">") else 0
        if b.expr == _ZERO:  # a is compared with a number: its negative may not fit
            difference = a.plus(b.times(-1))
            bound = -difference.constant - slack
            interval = Interval(bound if operator[0] == "=" else None, bound)
        else:
            difference = b.plus(a.times(-1))
            bound = -difference.constant + slack
            interval = Interval(bound, bound if operator[0] == "=" else None)
        self.found.add(difference.expr, interval)
        if len(self.found.conditions) > _MAX_CONDITIONS:
            self.fail(f"conditions on at most {_MAX_CONDITIONS} expressions", "one more")

    # ------------------------------------------------------------------------------------------------- expressions

    def integer(self) -> _Value:
        """An expression that is an integer."""
        token = self.token
        value = self.sum()
        if value.denominator != 1:
            self.fail("an integer", "a quotient without 'floor'", token)
        return value

    def sum(self) -> _Value:
        """``i - 2j + 3``."""
        total = _Value(_ZERO)
        while True:
            sign = 1
            while self.take("-"):
                sign = -sign
            total = total.plus(self.term(sign))
            if not self.take("+") and self.token.text != "-":
                return total

    def term(self, sign: int) -> _Value:
        """A number, ``2*i`` or ``2i``, or a factor."""
        if not self.token.is_integer:
            return self.factor().times(sign)
        number = sign * self.number()
        if self.take("*") or self.token.is_name or self.token.word in _FUNCTIONS:
            return self.factor().times(number)
        return self.operations(_Value(_ZERO, number), "/")

    def factor(self) -> _Value:
        """An operand with one kind of operation by numbers: ``i mod 4``, ``i*3/2``."""
        value = self.operand()
        if not self.take("mod", "%"):
            return self.operations(value, "*/")
        if value.denominator != 1:
            self.fail("an integer before 'mod'", "a quotient")
        return self.operations(_Value.of((value.expr + value.constant) % self.divisor()), "")

    def operations(self, value: _Value, allowed: str) -> _Value:
        """The value after those operations that may follow: products with numbers, then a quotient."""
        while "*" in allowed and self.take("*"):
            sign = -1 if self.take("-") else 1
            value = value.times(sign * self.number())
        if "/" in allowed and self.take("/"):
            value = value.divided(self.divisor())
        if self.token.word in ("*", "/", "mod", "%"):
            self.fail("parentheses around the expression before the operator")
        return value

    def operand(self) -> _Value:
        """A variable, an expression in parentheses, or a function."""
        word = self.token.word
        if self.token.is_name:
            if word not in self.values:
                self.fail("a variable that is declared before")
            return self.values[self.advance().text]
        if word not in ("(", "[", *_FUNCTIONS):
            self.fail("a number, a variable, '(' or a function")
        self.advance()
        with self.nested():
            if word in ("(", "["):
                value = self.sum()
            else:
                self.expect("(")
                value = self.function(word)
        self.expect("]" if word == "[" else ")", f"an operator or '{']' if word == '[' else ')'}'")
        return value.floor() if word == "[" else value

    def function(self, word: str) -> _Value:
        """The arguments of a function, and its value."""
        if word in ("min", "max"):
            value = self.integer()
            while self.take(","):
                other = self.integer()
                choose = Expr.minimum if word == "min" else Expr.maximum
                value = _Value.of(choose(value.expr + value.constant, other.expr + other.constant))
            return value
        value = self.sum()
        if word in ("floord", "ceild"):
            self.expect(",")
            value = value.divided(self.divisor())
        return value.floor() if word in ("floor", "floord") else value.ceil()

    def number(self) -> int:
        """Digits."""
        if not self.token.is_integer:
            self.fail("an integer")
        if len(self.token.text) > _MAX_DIGITS:
            self.fail(f"an integer of at most {_MAX_DIGITS} digits")
        return int(self.advance().text)

    def divisor(self) -> int:
        """A positive integer."""
        token = self.token
        number = self.number()
        if number == 0:
            self.fail("a positive divisor", token=token)
        return number
