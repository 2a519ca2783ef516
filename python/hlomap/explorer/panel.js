// The panel of one instruction: what it is, where it comes from, what it reads, its layout, its neighbours.
//
// Read class Panel.  All texts become text nodes.
"use strict";

class Panel {
  /**
   * @param {any} root
   * @param {{announce: (text: string) => void, open: (i: number) => void, enter: (c: number) => void, mate: (i: number) => any}} actions
   */
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
    const kids = [
      element("h2", { tabindex: -1 }, element("span", { class: `chip ${model.kindOf(i)}` }, model.opcodeOf(i)), " ", model.nameOf(i)),
      element("p", { class: "shape" }, element("code", {}, shape.text)),
      this._facts(model, i),
    ];
    this.reads = null;
    if (outputs.length > 1) kids.push(this._outputs(model, i, outputs, output));
    if (record?.error) kids.push(element("p", { class: "warning" }, `what it reads cannot be determined: ${record.error}`));
    else if (record) {
      this.reads = new ReadsView(model, i, record, this.actions);
      kids.push(element("h3", {}, "What it reads"));
      const subject = record.names.length ? `output (${record.names.join(", ")})` : "the output";
      const words = record.reads.map((read) => read.words.split("{}").join(model.labelOf(model.operandsOf(i)[read.operand]) + leafText(read.leaf)));
      kids.push(element("p", { class: "sentence" }, `${subject} reads ${[...new Set(words)].join("; ") || "nothing"}`));
      if (record.more) kids.push(element("p", { class: "note" }, `${plural(record.more, "more array")} not shown`));
      kids.push(this.reads.root);
    } else if (model.opcodeOf(i) === "parameter") {
      kids.push(element("p", { class: "sentence" }, `${model.detailOf(i)} of ${model.computations[model.computationOf(i)].name}`));
    }
    kids.push(this._layouts(model, record ? model.shape(record.shape) : shape), this._neighbours(model, i));
    this.root.replaceChildren(...kids.filter(Boolean));
    this.root.scrollTop = 0;
  }

  /** @param {Model} model @param {number} i @param {ReadRecord[]} outputs @param {number} output */
  _outputs(model, i, outputs, output) {
    const choice = element("select", { "aria-label": "output" });
    outputs.forEach((record, k) => {
      const option = element("option", { value: k, selected: k === output }, `${leafText(record.leaf)} ${model.shape(record.shape).text}`);
      choice.append(option);
    });
    choice.addEventListener("change", () => {
      this.show(model, i, Number(choice.value));
      this.root.querySelector("select")?.focus();
    });
    const n = model.shapeOf(i).n ?? outputs.length;
    return element("p", { class: "controls" }, element("label", {}, "output ", choice), n > outputs.length && ` the first ${outputs.length}`);
  }

  /** @param {Model} model @param {number} i */
  _facts(model, i) {
    /** @type {[string, any[]][]} */
    const facts = [];
    const c = model.computationOf(i);
    const { callers } = model.computations[c];
    const link = (/** @type {number} */ other) => element("button", { class: "link", onclick: () => this.actions.open(other) }, model.nameOf(other));
    facts.push(["in", [model.computations[c].name, callers.length ? " called by " : "", ...callers.slice(0, 4).map(link).flatMap((one, k) => (k ? [", ", one] : [one])), callers.length > 4 ? ` and ${callers.length - 4} more` : ""]]);
    const detail = model.detailOf(i);
    if (detail) facts.push([model.opcodeOf(i) === "constant" ? "value" : "attributes", [element("code", {}, detail)]]);
    const calls = model.callsOf(i);
    if (calls.length) {
      const enter = (/** @type {number} */ one) =>
        element("button", { class: "link", onclick: () => this.actions.enter(one) }, `${model.computations[one].name} (${plural(model.computations[one].n, "instruction")})`);
      facts.push(["calls", calls.slice(0, 8).map(enter).flatMap((one, k) => (k ? [", ", one] : [one]))]);
    }
    if (model.operandsOf(i).length) {
      const read = model.bytesRead(i);
      facts.push(["bytes", [`${formatInt(read)} read${read >= 1000 ? ` (${shortBytes(read)})` : ""}, ${formatInt(model.shapeOf(i).bytes)} written${model.isFree(i) ? "; hands its values on without touching memory" : ""}`]]);
    }
    const memory = model.outputsOf(i)[0]?.memory;
    if (memory) facts.push(["memory", [memory]]);
    if (model.outputsOf(i)[0]?.devices) facts.push(["devices", ["elements may be on other devices"]]);
    if (model.data.notes[i]) facts.push(["inconsistent", [model.data.notes[i]]]);
    const source = model.sourceOf(i);
    if (source) {
      const text = [source.place, source.caller && `in ${source.caller}`].filter(Boolean).join(" ");
      if (text) facts.push(["source", [text]]);
      if (source.operation) facts.push(["operation", [element("code", {}, source.operation)]]);
      if (source.stack.length > 1) {
        const frames = source.stack.slice(0, -1).reverse().map((/** @type {string} */ frame) => element("li", {}, frame));
        facts.push(["stack", [element("details", {}, element("summary", {}, `called from ${source.stack[source.stack.length - 2]}`), element("ol", {}, ...frames))]]);
      }
    }
    for (const [name, values] of this.actions.mate(i)) facts.push([name, values]);
    return element("dl", {}, ...facts.flatMap(([name, values]) => [element("dt", {}, name), element("dd", {}, ...values)]));
  }

  /** @param {Model} model @param {ShapeRecord} shape */
  _layouts(model, shape) {
    const { layout } = shape;
    if (!layout) return null;
    const table = layoutTable(model, shape);
    const padding = Number(layout.positions) > Number(shape.elements) ? `, ${formatInt(Number(layout.positions) - Number(shape.elements))} of padding` : "";
    return element(
      "section", { class: "layouts" }, element("h3", {}, "Layout of the output"),
      element("p", {}, element("code", {}, layout.text), ` ${plural(layout.positions, "position")}${padding}, ${plural(layout.bytes, "byte")}`),
      table && element("div", { class: "scroll" }, table),
      layout.map && element("code", { class: "map" }, layout.map),
    );
  }

  /** @param {Model} model @param {number} i */
  _neighbours(model, i) {
    const rows = (/** @type {number[]} */ list) =>
      list.slice(0, 40).map((other) =>
        element("li", {}, element("button", { class: "link", onclick: () => this.actions.open(other) }, model.nameOf(other)), " ", element("code", {}, model.shapeOf(other).text)),
      );
    const part = (/** @type {string} */ name, /** @type {number[]} */ list) => [
      element("h3", {}, `${name} (${formatInt(list.length)})`),
      list.length ? element("ol", { class: "neighbours", start: 0 }, ...rows(list), list.length > 40 && element("li", {}, `and ${formatInt(list.length - 40)} more`)) : element("p", { class: "note" }, "none"),
    ];
    return element("section", {}, ...part("Operands", model.operandsOf(i)), ...part("Users", model.usersOf(i)));
  }
}
