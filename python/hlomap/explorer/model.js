// The data of one module of the page, with what follows from it: users, computations, bytes.
//
// Read class Model.  Instructions are numbers.  Texts of the program are data: they are only ever set as textContent.
"use strict";

/** @typedef {number | string | null} Count a number, as text where it is beyond 2^53; null is unknown */
/**
 * @typedef {object} Read one array of an operand
 * @property {number} operand
 * @property {number[]} leaf
 * @property {number} shape
 * @property {number[]} maps
 * @property {string} status
 * @property {string} [reason]
 * @property {string} words with {} in the place of the name
 * @property {Count} bytes
 * @property {Count[]} [reads] bounds of the number of reads
 * @property {Count[]} [distinct] bounds of the number of elements
 * @property {number} [left_out] maps that are not in the page
 * @property {[string, number, string][]} [runtime] name, instruction that has the value, index of the value
 */
/**
 * @typedef {object} ReadRecord one array of the output
 * @property {number[]} leaf
 * @property {number} shape
 * @property {string[]} names
 * @property {Read[]} reads
 * @property {number} [more]
 * @property {boolean} [devices]
 * @property {string} [memory]
 * @property {string} [error]
 */
/**
 * @typedef {object} ShapeRecord
 * @property {string} text
 * @property {Count} bytes
 * @property {(number | string)[]} [dims]
 * @property {number | string} [elements]
 * @property {any} [layout]
 * @property {number} [n] how many arrays a tuple has
 */
/** @typedef {{name: string, kind: string, first: number, n: number, root: number, callers: number[]}} Computation */

/** The JSON in a block of the page; null where there is none. @param {string} id */
function readBlock(id) {
  const block = document.getElementById(id);
  return block && JSON.parse(block.textContent ?? "null");
}

const MOVES = new Set(
  ("bitcast broadcast concatenate copy copy-start copy-done dynamic-slice dynamic-update-slice gather pad reshape " +
    "reverse scatter slice transpose").split(" "),
);
const COLLECTIVES = /^(all-|collective-|reduce-scatter|ragged-all|send|recv|partition-id|replica-id)/;
const CONTROL = new Set(["call", "conditional", "while", "async-start", "async-update", "async-done"]);
const PLUMBING = new Set(["tuple", "get-tuple-element", "opt-barrier", "after-all", "add-dependency", "domain"]);
const HEAVY = /^(dot|convolution|scaled-dot|ragged-dot|custom-call|cholesky|triangular-solve|fft|sort|topk)$/;

class Model {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.name = /** @type {string} */ (data.name);
    /** @type {Computation[]} */
    this.computations = data.computations;
    this.n = data.columns.name.length;
    /** @type {number[][] | null} */
    this._users = null;
    /** @type {Map<string, IndexMap | null>} */
    this._maps = new Map();
    /** @type {number[] | null} */
    this._order = null;
    /** @type {Float64Array | null} */
    this._moved = null;
  }

  /** @param {number} i @returns {string} */
  nameOf(i) {
    return this.data.columns.name[i];
  }
  /** The name of a value in a sentence. @param {number} i @returns {string} */
  labelOf(i) {
    return this.data.labels[i] ?? this.nameOf(i);
  }
  /** @param {number} i @returns {string} */
  opcodeOf(i) {
    return this.data.opcodes[this.data.columns.opcode[i]][0];
  }
  /** Whether it hands values on without touching memory. @param {number} i @returns {boolean} */
  isFree(i) {
    return this.data.opcodes[this.data.columns.opcode[i]][1];
  }
  /** @param {number} i @returns {ShapeRecord} */
  shapeOf(i) {
    return this.data.shapes[this.data.columns.shape[i]];
  }
  /** @param {number} k @returns {ShapeRecord} */
  shape(k) {
    return this.data.shapes[k];
  }
  /** @param {number} i @returns {number[]} */
  operandsOf(i) {
    return this.data.columns.operands[i];
  }
  /** @param {number} i @returns {ReadRecord[]} */
  outputsOf(i) {
    return this.data.columns.outputs[i].map((/** @type {number} */ k) => this.data.records[k]);
  }
  /** @param {number} i @returns {number[]} computations */
  callsOf(i) {
    return this.data.calls[i] ?? [];
  }
  /** @param {number} i @returns {string} */
  detailOf(i) {
    return this.data.details[this.data.columns.detail[i]] ?? "";
  }
  /** The operation in the program, the line, the function, and the calls that led there. @param {number} i */
  sourceOf(i) {
    const found = this.data.sources[this.data.columns.source[i]];
    if (!found) return null;
    const [operation, place, caller, stack] = found;
    return { operation, place, caller, stack: stack.map((/** @type {number} */ k) => this.data.frames[k]) };
  }

  /** @param {number} i @returns {number[]} */
  usersOf(i) {
    if (!this._users) {
      /** @type {number[][]} */
      const users = Array.from({ length: this.n }, () => []);
      this.data.columns.operands.forEach((/** @type {number[]} */ operands, /** @type {number} */ user) => {
        for (const operand of new Set(operands)) users[operand].push(user);
      });
      this._users = users;
    }
    return this._users[i];
  }

  /** The computation of an instruction, by halving. @param {number} i */
  computationOf(i) {
    if (!this._order) {
      this._order = this.computations.map((_, c) => c).filter((c) => this.computations[c].n);
      this._order.sort((a, b) => this.computations[a].first - this.computations[b].first);
    }
    let [low, high] = [0, this._order.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.computations[this._order[middle]].first <= i) low = middle;
      else high = middle - 1;
    }
    return this._order[low];
  }

  /** A map by its text, read when it is first asked for; null where it cannot be read.
   * @param {string} text @returns {IndexMap | null} */
  map(text) {
    let found = this._maps.get(text);
    if (found === undefined) {
      try {
        found = parseMap(text);
      } catch (error) {
        found = null;
      }
      this._maps.set(text, found);
    }
    return found;
  }

  /** Bytes read of an operand, an upper bound; of all operands with -1. @param {number} i @param {number} [k] */
  bytesRead(i, k = -1) {
    /** @type {Map<string, {sum: number, most: number}>} */
    const arrays = new Map();
    for (const output of this.outputsOf(i)) {
      for (const read of output.reads) {
        if (k >= 0 && read.operand !== k) continue;
        const key = `${read.operand} ${read.leaf}`;
        const found = arrays.get(key) ?? { sum: 0, most: Number(this.shape(read.shape).bytes ?? Infinity) };
        found.sum += Number(read.bytes ?? 0);
        arrays.set(key, found);
      }
    }
    let total = 0;
    for (const { sum, most } of arrays.values()) total += Math.min(sum, most);
    return total;
  }

  /** Bytes read and written; 0 for what hands values on, and in fusions and reducers. @param {number} i */
  movedBy(i) {
    if (!this._moved) {
      this._moved = new Float64Array(this.n).fill(-1);
    }
    if (this._moved[i] < 0) {
      const inside = !["entry", "called"].includes(this.computations[this.computationOf(i)].kind);
      this._moved[i] = inside || this.isFree(i) ? 0 : this.bytesRead(i) + Number(this.shapeOf(i).bytes ?? 0);
    }
    return this._moved[i];
  }

  /** The kind of an instruction, which the graph colours. @param {number} i */
  kindOf(i) {
    const opcode = this.opcodeOf(i);
    if (opcode === "fusion") return "fusion";
    if (opcode === "parameter" || opcode === "constant" || opcode === "iota") return "source";
    if (CONTROL.has(opcode)) return "control";
    if (COLLECTIVES.test(opcode)) return "collective";
    if (MOVES.has(opcode)) return "moves";
    if (PLUMBING.has(opcode)) return "plumbing";
    return HEAVY.test(opcode) ? "heavy" : "computes";
  }

  /** The worst status of the maps of an instruction. @param {number} i */
  statusOf(i) {
    let worst = "";
    for (const output of this.outputsOf(i)) {
      if (output.error) return "unknown";
      for (const { status } of output.reads) {
        if (status === "unknown") return status;
        if (worst !== "over-approximate") worst = status;
      }
    }
    return worst;
  }
}

// --------------------------------------------------------------------------------------------------------------- words

/** @param {number | string | bigint | null | undefined} n */
function formatInt(n) {
  return n === null || n === undefined ? "?" : BigInt(n).toLocaleString("en-US");
}

/** A number of bytes in short. @param {number | string | null | undefined} n */
function shortBytes(n) {
  if (n === null || n === undefined) return "? B";
  let value = Number(n);
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let k = 0;
  while (value >= 1000 && k < units.length - 1) {
    value /= 1000;
    k++;
  }
  return `${k && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[k]}`;
}

/** A number with its noun. @param {number | string | bigint} n @param {string} noun */
function plural(n, noun) {
  return `${formatInt(n)} ${noun}${BigInt(n) === 1n ? "" : "s"}`;
}

/** A shape index after a name. @param {number[]} leaf */
const leafText = (leaf) => (leaf.length ? `{${leaf.join(", ")}}` : "");

/** An element with attributes, properties of its class, and children; texts become text nodes.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children
 * @returns {any} */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(.../** @type {(globalThis.Node | string)[]} */ (children.filter(Boolean)));
  return made;
}

/** @param {string} text */
const code = (text) => element("code", {}, text);
/** @param {string} text */
const note = (text) => element("p", { class: "note" }, text);
/** @param {string} text @param {() => void} onclick */
const link = (text, onclick) => element("button", { class: "link", type: "button", onclick }, text);

/** Nodes with commas between them, at most some. @param {any[]} nodes @param {number} most @returns {any[]} */
function commas(nodes, most) {
  const parts = nodes.slice(0, most).flatMap((one, k) => (k ? [", ", one] : [one]));
  return nodes.length > most ? [...parts, ` and ${formatInt(nodes.length - most)} more`] : parts;
}

/** What a read is, in words. @param {Model} model @param {number} i @param {Read} read */
function wordsOf(model, i, read) {
  return read.words.split("{}").join(model.labelOf(model.operandsOf(i)[read.operand]) + leafText(read.leaf));
}
