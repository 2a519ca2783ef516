"""What the file of every operation names: its rule, what the functions of the rule take and return, two traits."""

from __future__ import annotations

from ..types import ShapeIndex as ShapeIndex
from ._evaluation import Array as Array, EvalContext as EvalContext, Steps as Steps, Value as Value
from ._known import moved as moved
from ._operations import moves_elements as moves_elements
from ._registry import register as register
from ._rule import OpRule as OpRule, RuleContext as RuleContext, RuleResult as RuleResult
