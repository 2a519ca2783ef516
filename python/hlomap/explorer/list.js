// The list of instructions: sorted, searched, and drawn only where it is seen, so that 50,000 rows cost what 40 do.
//
// Read class InstructionList.
"use strict";

const ROW = 34;

class InstructionList {
  /**
   * @param {any} root the element that scrolls
   * @param {{select: (i: number) => void, open: (i: number) => void}} actions
   */
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    /** @type {number[]} */
    this.items = [];
    this.selected = -1;
    this.query = "";
    this.order = "bytes";
    this.space = element("div", { class: "space", role: "presentation" });
    root.append(this.space);
    root.addEventListener("scroll", () => this.draw());
    root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this._key(event));
  }

  /** @param {Model} model @param {(i: number) => string} mark */
  show(model, mark) {
    this.model = model;
    this.mark = mark;
    /** The text that a search looks in, made at the first search. @type {string[] | null} */
    this.texts = null;
    this.most = 1;
    for (let i = 0; i < model.n; i++) this.most = Math.max(this.most, model.movedBy(i));
    this.filter(this.query, this.order);
  }

  /** @param {string} query @param {string} order */
  filter(query, order) {
    this.query = query;
    this.order = order;
    const model = this.model;
    if (!model) return;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    let items = Array.from({ length: model.n }, (_, i) => i);
    if (words.length) {
      this.texts ??= items.map((i) => {
        const source = model.sourceOf(i);
        const own = [model.nameOf(i), model.labelOf(i), model.opcodeOf(i), model.shapeOf(i).text, model.statusOf(i)];
        return [...own, source?.operation, source?.place, this.mark?.(i)].join(" ").toLowerCase();
      });
      const texts = this.texts;
      items = items.filter((i) => words.every((word) => texts[i].includes(word)));
    }
    if (order === "bytes") items.sort((a, b) => model.movedBy(b) - model.movedBy(a) || a - b);
    this.items = items;
    this.space.style.height = `${items.length * ROW}px`;
    this.root.scrollTop = 0;
    this.draw();
  }

  draw() {
    const model = this.model;
    if (!model) return;
    const first = Math.max(0, Math.floor(this.root.scrollTop / ROW) - 4);
    const last = Math.min(this.items.length, first + Math.ceil(this.root.clientHeight / ROW) + 9);
    const rows = [];
    for (let k = first; k < last; k++) rows.push(this._row(model, this.items[k], k));
    this.space.replaceChildren(...rows);
    const active = this.items.indexOf(this.selected);
    if (active >= first && active < last) this.root.setAttribute("aria-activedescendant", `row-${this.selected}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  /** @param {Model} model @param {number} i @param {number} k */
  _row(model, i, k) {
    const moved = model.movedBy(i);
    const bar = element("span", { class: "bar" });
    bar.style.width = `${((100 * moved) / (this.most ?? 1)).toFixed(1)}%`;
    const mark = this.mark?.(i) ?? "";
    const row = element(
      "div",
      {
        class: `row${i === this.selected ? " selected" : ""} ${mark}`, role: "option", id: `row-${i}`,
        "aria-selected": String(i === this.selected), "aria-setsize": this.items.length, "aria-posinset": k + 1,
        onclick: () => this.actions.select(i), ondblclick: () => this.actions.open(i),
      },
      element("span", { class: `dot ${model.kindOf(i)}`, "aria-hidden": "true" }),
      element("span", { class: "name" }, model.nameOf(i)),
      element("span", { class: "size" }, mark ? `${mark} ` : "", moved ? shortBytes(moved) : ""),
      element("span", { class: "what" }, `${model.opcodeOf(i)} ${model.shapeOf(i).text}`),
      bar,
    );
    row.style.top = `${k * ROW}px`;
    return row;
  }

  /** @param {number} i */
  select(i) {
    this.selected = i;
    const k = this.items.indexOf(i);
    if (k >= 0) {
      const [first, last] = [(k + 1) * ROW - this.root.clientHeight, k * ROW];
      this.root.scrollTop = Math.min(last, Math.max(first, this.root.scrollTop));
    }
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    const page = Math.max(1, Math.floor(this.root.clientHeight / ROW) - 1);
    const steps = /** @type {Record<string, number>} */ ({
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.items.length, End: this.items.length,
    });
    if (event.key === "Enter") {
      if (this.selected >= 0) this.actions.open(this.selected);
    } else if (event.key in steps && !event.altKey) {
      const k = this.items.indexOf(this.selected);
      const next = k < 0 ? 0 : Math.max(0, Math.min(this.items.length - 1, k + steps[event.key]));
      if (this.items.length) this.actions.select(this.items[next]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
