// Indexing maps in the page: reads their text, evaluates points, and finds the elements that a box of points reaches.
//
// No value is ever wrong: the interval of every expression over the
// domain is known in exact integers; where all lie below 2^52 in size, doubles compute exactly, else BigInt does.  A
// result that does not fit into 64 bits is reported as an overflow, and an enumeration that is cut says so.
// Nothing here touches the document.
"use strict";

/** @typedef {number | bigint} Int */
/** @typedef {{name: string, lower: bigint, upper: bigint}} Variable */
/**
 * A node of an expression: a constant, a variable by its number in the map, or an operation.
 * @typedef {{op: string, value?: bigint, variable?: number, args?: Node[]}} Node
 */
/**
 * @typedef {object} Expression
 * @property {Node} node
 * @property {number[]} uses the variables that occur, in order
 * @property {[bigint, bigint]} bounds of the values at the points of the domain
 * @property {Map<number, bigint> | null} factors of the variables where the expression is affine, else null
 * @property {(values: Int[]) => Int} run
 */
/** @typedef {{expression: Expression, lower: Int, upper: Int}} Condition */
/**
 * @typedef {object} IndexMap
 * @property {string} text
 * @property {"map" | "undefined" | "empty"} state
 * @property {Variable[]} dims
 * @property {Variable[]} ranges
 * @property {Variable[]} runtime
 * @property {Variable[]} variables dims, ranges and runtime variables, as expressions number them
 * @property {Expression[]} results
 * @property {Condition[]} constraints
 * @property {string} sources the text after ", runtime: "
 * @property {boolean} small whether doubles compute exactly
 */

const LEAST = -(2n ** 63n);
const GREATEST = 2n ** 63n - 1n;
const EXACT = 2n ** 52n;

/** How many points of a component of a map are enumerated at most. */
const MOST_POINTS = 65536;

// --------------------------------------------------------------------------------------------------------------- text

/**
 * Reads the text of a map; throws SyntaxError for anything else.
 * @param {string} text
 * @returns {IndexMap}
 */
function parseMap(text) {
  const tokens = text.match(/->|[A-Za-z_]\w*|\d+|\S/g) || [];
  let at = 0;
  /** @type {Map<string, number>} */
  const numbers = new Map();
  const fail = () => {
    throw new SyntaxError(`not a map at token ${at} ('${tokens[at] ?? "end"}'): ${text.slice(0, 200)}`);
  };
  /** @param {string} token */
  const take = (token) => tokens[at] === token && ++at > 0;
  /** @param {string} token */
  const expect = (token) => take(token) || fail();

  /** @param {string} open @param {string} close @returns {Variable[]} */
  const names = (open, close) => {
    /** @type {Variable[]} */
    const found = [];
    if (!take(open)) return found;
    while (!take(close)) {
      const name = tokens[at++] ?? fail();
      numbers.set(name, numbers.size);
      found.push({ name, lower: 0n, upper: -1n });
      if (tokens[at] !== close) expect(",");
    }
    return found;
  };
  const integer = () => {
    const sign = take("-") ? -1n : 1n;
    if (!/^\d+$/.test(tokens[at] ?? "")) fail();
    return sign * BigInt(tokens[at++]);
  };
  /** @returns {Node} */
  const sum = () => {
    const terms = [product()];
    while (tokens[at] === "+" || tokens[at] === "-") terms.push(tokens[at++] === "-" ? negated(product()) : product());
    return terms.length === 1 ? terms[0] : { op: "+", args: terms };
  };
  /** @returns {Node} */
  const product = () => {
    let left = unary();
    for (;;) {
      const op = tokens[at];
      if (op !== "*" && op !== "floordiv" && op !== "mod") return left;
      at++;
      left = { op, args: [left, unary()] };
    }
  };
  /** @returns {Node} */
  const unary = () => {
    if (take("-")) return negated(unary());
    if (/^\d/.test(tokens[at] ?? "")) return { op: "constant", value: BigInt(tokens[at++]) };
    if (take("(")) {
      const inner = sum();
      expect(")");
      return inner;
    }
    const word = tokens[at++] ?? fail();
    if (word === "min" || word === "max") {
      expect("(");
      const first = sum();
      expect(",");
      const second = sum();
      expect(")");
      return { op: word, args: [first, second] };
    }
    if (!numbers.has(word)) fail();
    return { op: "variable", variable: numbers.get(word) };
  };

  if (tokens[0] !== "(") fail();
  const dims = names("(", ")");
  const ranges = names("[", "]");
  const runtime = names("{", "}");
  const variables = [...dims, ...ranges, ...runtime];
  /** @type {IndexMap} */
  const map = {
    text, state: "map", dims, ranges, runtime, variables, results: [], constraints: [], sources: "", small: true,
  };
  expect("->");
  if (take("UNDEFINED")) map.state = "undefined";
  else if (take("KNOWN")) map.state = expect("EMPTY") && "empty";
  /** @type {Node[]} */
  const results = [];
  /** @type {{node: Node, lower: bigint, upper: bigint}[]} */
  const conditions = [];
  if (map.state === "map") {
    expect("(");
    while (!take(")")) {
      results.push(sum());
      if (tokens[at] !== ")") expect(",");
    }
    if (take(",") && take("domain")) {
      expect(":");
      do {
        if (tokens[at] === "runtime") break;
        const node = sum();
        expect("in");
        expect("[");
        const lower = integer();
        expect(",");
        const upper = integer();
        expect("]");
        if (node.op === "variable") Object.assign(variables[node.variable ?? 0], { lower, upper });
        else conditions.push({ node, lower, upper });
      } while (take(","));
    }
    map.sources = (/, runtime: (.*)$/.exec(text) || ["", ""])[1];
  }
  const bounds = [...results, ...conditions.map((one) => one.node)].map((node) => boundsOf(node, variables));
  map.small =
    variables.every((v) => -EXACT < v.lower && v.upper < EXACT) && bounds.every((found) => found.largest < EXACT);
  const make = (/** @type {Node} */ node, /** @type {number} */ i) => expressionOf(node, bounds[i], map.small);
  map.results = results.map(make);
  // Rounded limits compare like exact ones with values below 2^52.
  const limit = (/** @type {bigint} */ n) => (map.small ? Number(n) : n);
  map.constraints = conditions.map(({ node, lower, upper }, i) => {
    return { expression: make(node, results.length + i), lower: limit(lower), upper: limit(upper) };
  });
  return map;
}

/** @param {Node} node @returns {Node} */
function negated(node) {
  if (node.op === "constant") return { op: "constant", value: -(node.value ?? 0n) };
  return { op: "*", args: [{ op: "constant", value: -1n }, node] };
}

// ----------------------------------------------------------------------------------------------------------- analysis

/**
 * The interval of an expression over the ranges of the variables, and the largest size of a value on the way.
 * @param {Node} node
 * @param {Variable[]} variables
 * @returns {{lower: bigint, upper: bigint, largest: bigint}}
 */
function boundsOf(node, variables) {
  if (node.op === "constant") return sized(node.value ?? 0n, node.value ?? 0n, 0n);
  if (node.op === "variable") {
    const { lower, upper } = variables[node.variable ?? 0];
    return lower <= upper ? sized(lower, upper, 0n) : sized(0n, 0n, 0n);
  }
  const parts = (node.args ?? []).map((inner) => boundsOf(inner, variables));
  const largest = parts.reduce((most, part) => (part.largest > most ? part.largest : most), 0n);
  const [a, b] = parts;
  switch (node.op) {
    case "+": {
      // Every partial sum is bounded by the sum of the sizes.
      const total = parts.reduce((sum, part) => sum + part.largest, 0n);
      const lower = parts.reduce((sum, part) => sum + part.lower, 0n);
      return sized(lower, parts.reduce((sum, part) => sum + part.upper, 0n), total);
    }
    case "*": {
      const corners = [a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper];
      return sized(least(corners), greatest(corners), largest);
    }
    case "floordiv": {
      // A divisor outside the domain may be 0 or less; the value there does not count.
      const by = b.lower > 0n ? [b.lower, b.upper] : [1n, greatest([b.upper, 1n])];
      const corners = by.flatMap((n) => [floorDiv(a.lower, n), floorDiv(a.upper, n)]);
      return sized(least(corners), greatest(corners), largest);
    }
    case "mod":
      // The remainder is computed as a - b * (a floordiv b), where the product may exceed a by b.
      return sized(0n, greatest([b.upper - 1n, 0n]), a.largest + b.largest);
    case "min":
      return sized(least([a.lower, b.lower]), least([a.upper, b.upper]), largest);
    default:
      return sized(greatest([a.lower, b.lower]), greatest([a.upper, b.upper]), largest);
  }
}

/** @param {bigint} lower @param {bigint} upper @param {bigint} largest */
function sized(lower, upper, largest) {
  return { lower, upper, largest: greatest([largest, lower < 0n ? -lower : lower, upper < 0n ? -upper : upper]) };
}

/** @param {bigint[]} values */
const least = (values) => values.reduce((a, b) => (a < b ? a : b));
/** @param {bigint[]} values */
const greatest = (values) => values.reduce((a, b) => (a > b ? a : b));

/**
 * @param {Node} node
 * @param {{lower: bigint, upper: bigint}} bounds
 * @param {boolean} small
 * @returns {Expression}
 */
function expressionOf(node, bounds, small) {
  /** @type {Set<number>} */
  const uses = new Set();
  const visit = (/** @type {Node} */ here) => {
    if (here.op === "variable") uses.add(here.variable ?? 0);
    (here.args ?? []).forEach(visit);
  };
  visit(node);
  return {
    node, uses: [...uses].sort((a, b) => a - b), bounds: [bounds.lower, bounds.upper], factors: factorsOf(node),
    run: small ? compile(node, NUMBERS) : compile(node, BIGINTS),
  };
}

/** The factors of an affine expression; null for any other. @param {Node} node @returns {Map<number, bigint> | null} */
function factorsOf(node) {
  if (node.op === "constant") return new Map();
  if (node.op === "variable") return new Map([[node.variable ?? 0, 1n]]);
  const args = node.args ?? [];
  if (node.op === "*") {
    const constant = args.find((one) => one.op === "constant");
    const other = args.find((one) => one !== constant);
    const inner = constant && other && factorsOf(other);
    return inner ? new Map([...inner].map(([v, n]) => [v, n * (constant.value ?? 0n)])) : null;
  }
  if (node.op !== "+") return null;
  const total = new Map();
  for (const term of args) {
    const inner = factorsOf(term);
    if (!inner) return null;
    for (const [v, n] of inner) total.set(v, (total.get(v) ?? 0n) + n);
  }
  return total;
}

// --------------------------------------------------------------------------------------------------------- arithmetic

/** @param {bigint} a @param {bigint} b positive */
function floorDiv(a, b) {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** What is outside the domain where a divisor is not positive; no comparison with it holds. */
class Outside extends Error {}

// For |a| < 2^52 and b >= 1 the distance of a / b from the next integer is at least 1 / b, which is more than half a
// unit in the last place: Math.floor of the rounded quotient is the floor of the exact one.
const NUMBERS = {
  constant: (/** @type {bigint} */ n) => Number(n),
  "+": (/** @type {any} */ a, /** @type {any} */ b) => a + b,
  "*": (/** @type {any} */ a, /** @type {any} */ b) => a * b,
  floordiv: (/** @type {any} */ a, /** @type {any} */ b) => (b > 0 ? Math.floor(a / b) : NaN),
  mod: (/** @type {any} */ a, /** @type {any} */ b) => (b > 0 ? a - b * Math.floor(a / b) : NaN),
  min: (/** @type {any} */ a, /** @type {any} */ b) => Math.min(a, b),
  max: (/** @type {any} */ a, /** @type {any} */ b) => Math.max(a, b),
};

const BIGINTS = {
  constant: (/** @type {bigint} */ n) => n,
  "+": (/** @type {any} */ a, /** @type {any} */ b) => a + b,
  "*": (/** @type {any} */ a, /** @type {any} */ b) => a * b,
  floordiv: (/** @type {any} */ a, /** @type {any} */ b) => floorDiv(a, positive(b)),
  mod: (/** @type {any} */ a, /** @type {any} */ b) => a - b * floorDiv(a, positive(b)),
  min: (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? a : b),
  max: (/** @type {any} */ a, /** @type {any} */ b) => (a > b ? a : b),
};

/** @param {bigint} n */
function positive(n) {
  if (n <= 0n) throw new Outside();
  return n;
}

/**
 * A function of the values of the variables.
 * @param {Node} node
 * @param {Record<string, (...values: any[]) => any>} arithmetic
 * @returns {(values: Int[]) => Int}
 */
function compile(node, arithmetic) {
  if (node.op === "constant") {
    const value = arithmetic.constant(node.value ?? 0n);
    return () => value;
  }
  if (node.op === "variable") {
    const number = node.variable ?? 0;
    return (values) => values[number];
  }
  const combine = arithmetic[node.op];
  const [first, ...rest] = (node.args ?? []).map((inner) => compile(inner, arithmetic));
  return rest.reduce((left, right) => (values) => combine(left(values), right(values)), first);
}

// -------------------------------------------------------------------------------------------------------------- points

/**
 * The results at one point: a value for each variable, dims first.  Outside the domain there are none.
 * @param {IndexMap} map
 * @param {(Int | string)[]} point
 * @returns {{inside: boolean, results: bigint[], overflow: boolean}}
 */
function evaluateMap(map, point) {
  const outside = { inside: false, results: [], overflow: false };
  const exact = point.map((value) => BigInt(value));
  if (map.state !== "map" || !map.variables.every((v, i) => v.lower <= exact[i] && exact[i] <= v.upper)) return outside;
  const values = map.small ? exact.map(Number) : exact;
  try {
    if (!map.constraints.every((one) => holds(one, values))) return outside;
    const results = map.results.map((result) => BigInt(result.run(values)));
    const overflow = results.some((value) => value < LEAST || value > GREATEST);
    return { inside: true, results: overflow ? [] : results, overflow };
  } catch (error) {
    if (error instanceof Outside) return outside;
    throw error;
  }
}

/** @param {Condition} constraint @param {Int[]} values */
function holds({ expression, lower, upper }, values) {
  const value = expression.run(values);
  return value >= lower && value <= upper;
}

// -------------------------------------------------------------------------------------------------------------- images

/**
 * A part of an image: some of the results, together.  A step has the values start, start + step, …; points are tuples
 * of values in the order of `results`.
 * @typedef {{results: number[], start?: Int, step?: Int, n: number, points?: Int[][]}} Part
 */
/**
 * The elements that a box of points reaches: all combinations of the parts, which share no results.
 * @typedef {{parts: Part[], isEmpty: boolean, isCut: boolean, overflow: boolean, unknown: boolean}} Image
 */

/**
 * The elements that a map reaches from a box: an interval for each variable, dims first; null stands for all values.
 *
 * Results that share no variable are found apart, so that a row times a column costs a row and a column; where a result
 * is affine and its values are evenly spaced, nothing is enumerated at all.
 * @param {IndexMap} map
 * @param {([Int, Int] | null)[]} box
 * @param {number} [limit]
 * @returns {Image}
 */
function imageOfMap(map, box, limit = MOST_POINTS) {
  /** @type {Image} */
  const image = { parts: [], isEmpty: false, isCut: false, overflow: false, unknown: map.state === "undefined" };
  const empty = () => ({ ...image, parts: [], isEmpty: true });
  if (map.state !== "map") return map.state === "empty" ? empty() : image;
  /** @type {[bigint, bigint][]} */
  const intervals = map.variables.map((v, i) => {
    const given = box[i];
    return given ? [greatest([v.lower, BigInt(given[0])]), least([v.upper, BigInt(given[1])])] : [v.lower, v.upper];
  });
  if (intervals.some(([lower, upper]) => lower > upper)) return empty();
  for (const component of componentsOf(map, intervals)) {
    const found = progressionOf(map, component, intervals) ?? enumerate(map, component, intervals, limit);
    image.isCut ||= found.isCut;
    image.overflow ||= found.overflow;
    if (found.n === 0) return empty();
    if (component.results.length) image.parts.push(found.part);
  }
  return image;
}

/** @typedef {{variables: number[], results: number[], constraints: number[]}} Component */

/**
 * Groups results and constraints that share a variable with more than one value.
 * @param {IndexMap} map
 * @param {[bigint, bigint][]} intervals
 * @returns {Component[]}
 */
function componentsOf(map, intervals) {
  const parent = map.variables.map((_, i) => i);
  /** @param {number} i @returns {number} */
  const find = (i) => (parent[i] === i ? i : (parent[i] = find(parent[i])));
  const free = (/** @type {Expression} */ e) => e.uses.filter((v) => intervals[v][0] < intervals[v][1]);
  const all = [...map.results, ...map.constraints.map((one) => one.expression)].map(free);
  for (const [first, ...rest] of all) for (const v of rest) parent[find(v)] = find(first);
  /** @type {Map<string, Component>} */
  const groups = new Map();
  all.forEach((used, i) => {
    const key = used.length ? String(find(used[0])) : `constant ${i}`;
    const group = groups.get(key) ?? { variables: [], results: [], constraints: [] };
    groups.set(key, group);
    if (i < map.results.length) group.results.push(i);
    else group.constraints.push(i - map.results.length);
    for (const v of used) if (!group.variables.includes(v)) group.variables.push(v);
  });
  return [...groups.values()];
}

/**
 * The evenly spaced values of one affine result without constraints; null for any other component.
 * @param {IndexMap} map
 * @param {Component} component
 * @param {[bigint, bigint][]} intervals
 */
function progressionOf(map, component, intervals) {
  if (component.results.length !== 1 || component.constraints.length || !component.variables.length) return null;
  const expression = map.results[component.results[0]];
  if (!expression.factors) return null;
  const factors = expression.factors;
  const terms = component.variables
    .map((v) => ({ v, factor: factors.get(v) ?? 0n, n: intervals[v][1] - intervals[v][0] + 1n }))
    .filter((term) => term.factor !== 0n)
    .sort((a, b) => Number(size(a.factor) - size(b.factor)));
  const step = terms.length ? size(terms[0].factor) : 1n;
  let n = 1n;
  for (const term of terms) {
    if (size(term.factor) % step || size(term.factor) > step * n) return null;
    n += ((term.n - 1n) * size(term.factor)) / step;
  }
  if (n >= EXACT) return null;
  const values = intervals.map(([lower]) => lower);
  for (const { v, factor } of terms) values[v] = intervals[v][factor > 0n ? 0 : 1];
  const start = BigInt(expression.run(map.small ? values.map(Number) : values));
  const overflow = start < LEAST || start + step * (n - 1n) > GREATEST;
  const simple = (/** @type {bigint} */ value) => (map.small ? Number(value) : value);
  const part = { results: component.results, start: simple(start), step: simple(step), n: Number(n) };
  return overflow ? null : { part, n: Number(n), isCut: false, overflow };
}

/** @param {bigint} n */
const size = (n) => (n < 0n ? -n : n);

/**
 * The results of a component at every point of its variables, at most `limit` of them.
 * @param {IndexMap} map
 * @param {Component} component
 * @param {[bigint, bigint][]} intervals
 * @param {number} limit
 */
function enumerate(map, component, intervals, limit) {
  const convert = (/** @type {bigint} */ n) => (map.small ? Number(n) : n);
  const values = intervals.map(([lower]) => convert(lower));
  const [lowers, uppers] = [values.slice(), intervals.map(([, upper]) => convert(upper))];
  const results = component.results.map((k) => map.results[k].run);
  const constraints = component.constraints.map((k) => map.constraints[k]);
  const total = component.variables.reduce((n, v) => n * (intervals[v][1] - intervals[v][0] + 1n), 1n);
  const isCut = total > limit;
  const n = isCut ? limit : Number(total);
  const keyOf = keyFor(component.results.map((k) => map.results[k]), map.small);
  /** @type {Map<Int | string, Int[]>} */
  const found = new Map();
  let overflow = false;
  for (let k = 0; k < n; k++) {
    const tuple = pointOf(results, constraints, values);
    if (tuple && !map.small && tuple.some((value) => value < LEAST || value > GREATEST)) overflow = true;
    else if (tuple) found.set(keyOf(tuple), tuple);
    for (const v of component.variables) {
      if (values[v] < uppers[v]) {
        // @ts-ignore a variable is a number or a BigInt throughout
        values[v]++;
        break;
      }
      values[v] = lowers[v];
    }
  }
  const points = [...found.values()];
  // Where a cut enumeration found nothing, there may still be something: the part is empty and marked.
  return { part: { results: component.results, points, n: points.length }, n: points.length, isCut, overflow };
}

/**
 * A key for tuples of values: one number where the values are small enough, else a text.
 * @param {Expression[]} results
 * @param {boolean} small
 * @returns {(tuple: Int[]) => Int | string}
 */
function keyFor(results, small) {
  if (results.length === 1) return (tuple) => tuple[0];
  const spans = results.map(({ bounds: [lower, upper] }) => [lower, upper - lower + 1n]);
  if (!small || spans.reduce((n, [, span]) => n * span, 1n) >= EXACT) return (tuple) => tuple.join();
  const numbers = spans.map(([lower, span]) => [Number(lower), Number(span)]);
  return (tuple) => tuple.reduce((key, value, i) => Number(key) * numbers[i][1] + Number(value) - numbers[i][0], 0);
}

/**
 * @param {((values: Int[]) => Int)[]} results
 * @param {Condition[]} constraints
 * @param {Int[]} values
 * @returns {Int[] | null}
 */
function pointOf(results, constraints, values) {
  try {
    for (const one of constraints) if (!holds(one, values)) return null;
    return results.map((run) => run(values));
  } catch (error) {
    if (error instanceof Outside) return null;
    throw error;
  }
}

/** The number of elements of an image. @param {Image} image @returns {bigint} */
function countOf(image) {
  if (image.isEmpty || image.unknown) return 0n;
  return image.parts.reduce((n, part) => n * BigInt(part.n), 1n);
}

/**
 * The elements of an image as tuples, at most `limit` of them.
 * @param {Image} image
 * @param {number} limit
 * @returns {Int[][]}
 */
function elementsOf(image, limit) {
  if (image.isEmpty || image.unknown) return [];
  const rank = image.parts.reduce((n, part) => n + part.results.length, 0);
  /** @type {Int[][]} */
  let found = [new Array(rank).fill(0)];
  for (const part of image.parts) {
    /** @type {Int[][]} */
    const next = [];
    for (const base of found) {
      for (let k = 0; k < part.n && next.length < limit; k++) {
        const tuple = base.slice();
        part.results.forEach((result, i) => (tuple[result] = valueAt(part, k, i)));
        next.push(tuple);
      }
    }
    found = next;
  }
  return found;
}

/** The value of a result of a part, at one of its points. @param {Part} part @param {number} k @param {number} i */
function valueAt(part, k, i) {
  if (part.points) return part.points[k][i];
  const { start = 0, step = 1 } = part;
  return typeof start === "number" ? start + Number(step) * k : BigInt(start) + BigInt(step) * BigInt(k);
}
