// The panel of one instruction: what it is, where it comes from, what it reads, its layout, its neighbours.
//
// Read class Panel.  All texts become text nodes.
"use strict";

const MOST_NEIGHBOURS = 40;

/**
 * @typedef {object} PanelActions
 * @property {(text: string) => void} announce
 * @property {(i: number) => void} open selects an instruction
 * @property {(c: number) => void} enter shows a computation by itself
 * @property {(i: number) => [string, any[]][]} mate facts about the other side of a diff
 */

class Panel {
  /** @param {any} root @param {PanelActions} actions */
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    /** @type {ReadsView | null} */
    this.reads = null;
  }

  /** @param {Model} model @param {number} i @param {number} [output] */
  show(model, i, output = 0) {
    const shape = model.shapeOf(i);
    const outputs = model.outputsOf(i);
    const record = outputs[output];
    const chip = element("span", { class: `chip ${model.kindOf(i)}` }, model.opcodeOf(i));
    const kids = [
      element("h2", { tabindex: -1 }, chip, " ", model.nameOf(i)),
      element("p", { class: "shape" }, code(shape.text)),
      this._facts(model, i),
    ];
    this.reads = null;
    if (outputs.length > 1) kids.push(this._outputs(model, i, outputs, output));
    if (record?.error) {
      kids.push(element("p", { class: "warning" }, `what it reads cannot be determined: ${record.error}`));
    } else if (record) {
      this.reads = new ReadsView(model, i, record, this.actions);
      kids.push(element("h3", {}, "What it reads"), element("p", { class: "sentence" }, sentence(model, i, record)));
      if (record.more) kids.push(note(`${plural(record.more, "more array")} not shown`));
      kids.push(this.reads.root);
    } else if (model.opcodeOf(i) === "parameter") {
      const where = titleOf(model, model.computationOf(i));
      kids.push(element("p", { class: "sentence" }, `${model.detailOf(i)} of ${where}`));
    }
    kids.push(this._layouts(model, record ? model.shape(record.shape) : shape));
    kids.push(element("section", {}, ...this._list("Operands", model, model.operandsOf(i))));
    kids.push(element("section", {}, ...this._list("Users", model, model.usersOf(i))));
    this.root.replaceChildren(...kids.filter(Boolean));
    this.root.scrollTop = 0;
  }

  /** The choice of an array of the output. @param {Model} model @param {number} i @param {ReadRecord[]} outputs
   * @param {number} output */
  _outputs(model, i, outputs, output) {
    const choice = element("select", { "aria-label": "output" });
    outputs.forEach((record, k) => {
      const text = `${leafText(record.leaf)} ${model.shape(record.shape).text}`;
      choice.append(element("option", { value: k, selected: k === output }, text));
    });
    choice.addEventListener("change", () => {
      this.show(model, i, Number(choice.value));
      this.root.querySelector("select")?.focus();
    });
    const isPart = (model.shapeOf(i).n ?? 0) > outputs.length;
    const label = element("label", {}, "output ", choice);
    return element("p", { class: "outputs" }, label, isPart && ` the first ${outputs.length}`);
  }

  /** @param {Model} model @param {number} i */
  _facts(model, i) {
    /** @type {[string, any[]][]} */
    const facts = [];
    const toInstruction = (/** @type {number} */ other) => link(model.nameOf(other), () => this.actions.open(other));
    const toComputation = (/** @type {number} */ c) => {
      const { name, n } = model.computations[c];
      return link(`${name} (${plural(n, "instruction")})`, () => this.actions.enter(c));
    };
    const c = model.computationOf(i);
    const { callers } = model.computations[c];
    const calledBy = callers.length ? [" called by ", ...commas(callers.map(toInstruction), 4)] : [];
    facts.push(["in", [titleOf(model, c), ...calledBy]]);
    const detail = model.detailOf(i);
    if (detail) facts.push([model.opcodeOf(i) === "constant" ? "value" : "attributes", [code(detail)]]);
    const calls = model.callsOf(i);
    if (calls.length) facts.push(["calls", commas(calls.map(toComputation), 8)]);
    if (model.data.loops[i]) facts.push(["loop", [model.data.loops[i]]]);
    if (model.operandsOf(i).length) facts.push(["bytes", [bytesText(model, i)]]);
    const [first] = model.outputsOf(i);
    if (first?.memory) facts.push(["memory", [first.memory]]);
    if (first?.devices) facts.push(["devices", ["elements may be on other devices"]]);
    if (model.data.notes[i]) facts.push(["inconsistent", [model.data.notes[i]]]);
    facts.push(...sourceFacts(model, i), ...this.actions.mate(i));
    const rows = facts.flatMap(([name, values]) => [element("dt", {}, name), element("dd", {}, ...values)]);
    return element("dl", {}, ...rows);
  }

  /** @param {Model} model @param {ShapeRecord} shape */
  _layouts(model, shape) {
    const { layout } = shape;
    if (!layout) return null;
    const table = layoutTable(model, shape);
    const unused = BigInt(layout.positions) - BigInt(shape.elements ?? 0);
    const padding = unused > 0n ? `, ${formatInt(unused)} of padding` : "";
    const size = ` ${plural(layout.positions, "position")}${padding}, ${plural(layout.bytes, "byte")}`;
    return element(
      "section", { class: "layouts" }, element("h3", {}, "Layout of the output"),
      element("p", {}, code(layout.text), size),
      table && element("div", { class: "scroll", tabindex: 0 }, table),
      layout.map && element("code", { class: "map" }, layout.map),
    );
  }

  /** @param {string} name @param {Model} model @param {number[]} list */
  _list(name, model, list) {
    const rows = list.slice(0, MOST_NEIGHBOURS).map((other) => {
      const button = link(model.nameOf(other), () => this.actions.open(other));
      return element("li", {}, button, " ", code(shorten(model.shapeOf(other).text, 120)));
    });
    if (list.length > rows.length) rows.push(element("li", {}, `and ${formatInt(list.length - rows.length)} more`));
    const body = rows.length ? element("ol", { class: "neighbours", start: 0 }, ...rows) : note("none");
    return [element("h3", {}, `${name} (${formatInt(list.length)})`), body];
  }
}

/** What any element of an output reads. @param {Model} model @param {number} i @param {ReadRecord} record */
function sentence(model, i, record) {
  const subject = record.names.length ? `output (${record.names.join(", ")})` : "the output";
  const words = record.reads.map((read) => wordsOf(model, i, read));
  return `${subject} reads ${[...new Set(words)].join("; ") || "nothing"}`;
}

/** @param {Model} model @param {number} i */
function bytesText(model, i) {
  const read = model.bytesRead(i);
  const shown = model.outputsOf(i).length;
  const isPart = (model.shapeOf(i).n ?? 0) > shown; // see the limits in docs/explore.md
  const short = read >= 1000 ? ` (${shortBytes(read)})` : "";
  const free = model.isFree(i) ? "; hands its values on without touching memory" : "";
  return `${isPart ? `for the first ${shown} arrays ` : ""}${formatInt(read)} read${short}, ${formatInt(model.shapeOf(i).bytes)} written${free}`;
}

/** @param {Model} model @param {number} i @returns {[string, any[]][]} */
function sourceFacts(model, i) {
  const source = model.sourceOf(i);
  if (!source) return [];
  /** @type {[string, any[]][]} */
  const facts = [];
  const text = [source.place, source.caller && `in ${source.caller}`].filter(Boolean).join(" ");
  if (text) facts.push(["source", [text]]);
  if (source.operation) facts.push(["operation", [code(source.operation)]]);
  const frames = source.stack.slice(0, -1).reverse();
  if (frames.length) {
    const items = frames.map((/** @type {string} */ frame) => element("li", {}, frame));
    const summary = element("summary", {}, `called from ${frames[0]}`);
    facts.push(["stack", [element("details", {}, summary, element("ol", {}, ...items))]]);
  }
  return facts;
}

/** A computation with what it is. @param {Model} model @param {number} c */
function titleOf(model, c) {
  const { kind, name } = model.computations[c];
  return `${kind === "entry" ? "ENTRY " : ""}${name}`;
}
