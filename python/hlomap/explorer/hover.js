// What one element, or one tile, of an output reads: pictures that light up, sentences, a table for screen readers.
//
// Read class ReadsView.  Everything is computed from the maps' own expressions (evaluate.js).  The pictures follow the
// pointer; the keyboard and the index fields do the same.  A frame computes and draws once, however many events came.
"use strict";

const MOST_LISTED = 24;
const MOST_MERGED = 4096;

class ReadsView {
  /**
   * @param {Model} model @param {number} i @param {ReadRecord} record
   * @param {{announce: (text: string) => void, open: (i: number) => void}} actions
   */
  constructor(model, i, record, actions) {
    this.model = model;
    this.i = i;
    this.record = record;
    this.actions = actions;
    this.shape = model.shape(record.shape);
    this.sizes = (this.shape.dims ?? []).map(Number);
    this.names = record.names.length === this.sizes.length ? record.names : this.sizes.map((_, d) => `d${d}`);
    this.tile = this.sizes.map(() => 1);
    this.index = this.sizes.map((n) => Math.min(n - 1, Math.floor(n / 3)));
    /** The values at run time, by the instruction that has them; null is any. @type {Map<string, bigint | null>} */
    this.runtime = new Map();
    this.isEmpty = this.sizes.some((n) => n === 0);
    this.isQueued = false;
    this.root = this._build();
    this.update(false);
  }

  // --------------------------------------------------------------------------------------------------------- building

  _build() {
    const { model, record } = this;
    this.output = new ArrayPicture(this.shape, `output ${this.shape.text}: arrow keys move the element`);
    this.output.isOutput = true;
    this.output.canvas.tabIndex = 0;
    this.output.canvas.id = "output-picture";
    this.reads = record.reads.map((read) => this._buildRead(read));
    this._listen();
    this.sentence = element("p", { class: "now", id: "now" });
    this.fields = this.sizes.map((n, d) => {
      const label = `index ${this.names[d]}`;
      const field = element("input", { type: "number", min: 0, max: n - 1, value: 0, "aria-label": label });
      field.style.width = `${String(n).length + 4.5}ch`;
      field.addEventListener("input", () => {
        const value = Math.trunc(Number(field.value));
        if (field.value !== "" && value >= 0 && value < n) this.move(d, value - this.index[d], false);
      });
      field.addEventListener("change", () => this._writeFields());
      return field;
    });
    this.table = element("tbody");
    const operands = this.reads.map(({ root }) => root);
    this.outputNote = note("");
    const head = ["operand", "elements", "bytes", "which"].map((name) => element("th", { scope: "col" }, name));
    return element(
      "div", { class: "reads" }, this._indexControls(), this._runtimeControls(), this.sentence,
      element(
        "div", { class: "pictures" },
        element(
          "figure", { class: "output" }, element("figcaption", {}, "output ", code(this.shape.text)),
          this.output.canvas, this.outputNote,
        ),
        element("div", { class: "operands" }, ...operands, !operands.length && note("reads nothing")),
      ),
      element(
        "details", { class: "table" }, element("summary", {}, "elements as a table"),
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), this.table),
      ),
    );
  }

  /** @param {Read} read */
  _buildRead(read) {
    const { model } = this;
    const operand = model.operandsOf(this.i)[read.operand];
    const shape = model.shape(read.shape);
    const label = model.labelOf(operand) + leafText(read.leaf);
    const picture = shape.dims && !shape.dims.some((n) => Number(n) === 0)
      ? new ArrayPicture(shape, `operand ${read.operand}, ${label}: ${shape.text}`) : null;
    const now = note("");
    const maps = read.maps.map((k) => model.map(model.data.maps[k])).filter((map) => map !== null);
    const texts = read.maps.map((k) => element("code", { class: "map" }, model.data.maps[k]));
    if (read.left_out) texts.push(note(`${plural(read.left_out, "more map")}, too many or too long for the page`));
    const facts = read.reason ? [read.reason] : [];
    const atMost = isBound(read.distinct) || read.status !== "exact" ? "at most " : "";
    if (read.bytes !== null) facts.push(`${atMost}${plural(read.bytes, "byte")} in all`);
    const reuse = reuseOf(read);
    if (reuse) facts.push(reuse);
    const status = element("span", { class: `status ${read.status}` }, read.status);
    const summary = element("summary", {}, plural(texts.length, "map"));
    const root = element(
      "figure", { class: `operand ${read.status}` },
      element(
        "figcaption", {}, `${read.operand}: `, link(label, () => this.actions.open(operand)), " ", code(shape.text),
      ),
      picture && picture.canvas, now,
      element("p", { class: "facts" }, status, facts.map((fact) => `, ${fact}`).join("")),
      element("p", { class: "words" }, wordsOf(model, this.i, read)),
      texts.length > 0 && element("details", { class: "maps", open: texts.length <= 2 }, summary, ...texts),
    );
    return { read, maps, picture, note: now, root, label, shape };
  }

  /** For each dimension of the output a field for the index and a slider for the size of a tile. */
  _indexControls() {
    if (!this.sizes.length || this.isEmpty || !this.record.reads.length) return null;
    const cells = this.sizes.map((n, d) => {
      const sizes = tileSizes(n);
      const shown = element("output", {}, "1");
      const slider = element("input", {
        type: "range", min: 0, max: sizes.length - 1, value: 0, step: 1, "aria-label": `tile size ${this.names[d]}`,
        "aria-valuetext": "1", disabled: n < 2, title: `size of a tile along ${this.names[d]}`,
      });
      slider.addEventListener("input", () => {
        this.tile[d] = sizes[Number(slider.value)];
        shown.textContent = String(this.tile[d]);
        slider.setAttribute("aria-valuetext", String(this.tile[d]));
        this.request();
      });
      const bounds = element("small", {}, `of ${formatInt(n)}`);
      return element(
        "div", { class: "dim" }, element("label", {}, element("b", {}, this.names[d]), this.fields[d], bounds),
        element("label", { class: "tile" }, element("small", {}, "tile"), slider, shown),
      );
    });
    return element("div", { class: "controls dims" }, ...cells);
  }

  _runtimeControls() {
    /** @type {Map<string, {name: string, lower: bigint, upper: bigint, text: string}>} */
    const found = new Map();
    for (const { read, maps } of this.reads) {
      for (const map of maps) {
        for (const variable of map.runtime) {
          const key = runtimeKey(read, variable.name);
          const own = (read.runtime ?? []).find(([name]) => name === variable.name);
          if (!key || !own) continue;
          const was = found.get(key);
          found.set(key, {
            name: variable.name, text: `${this.model.nameOf(own[1])}[${own[2]}]`,
            lower: was ? least([was.lower, variable.lower]) : variable.lower,
            upper: was ? greatest([was.upper, variable.upper]) : variable.upper,
          });
        }
      }
    }
    if (!found.size) return null;
    const rows = [...found].map(([key, { name, lower, upper, text }]) => {
      this.runtime.set(key, null);
      const shown = element("output", {}, "any");
      const fits = upper - lower < EXACT && -EXACT < lower && upper < EXACT;
      const slider = element("input", {
        type: "range", min: lower, max: upper, step: 1, value: lower, disabled: true, class: "runtime",
        "aria-label": `value of ${name}`,
      });
      const label = `any value of ${name}`;
      const any = element("input", { type: "checkbox", checked: true, disabled: !fits, "aria-label": label });
      const set = () => {
        this.runtime.set(key, any.checked ? null : BigInt(slider.value));
        slider.disabled = any.checked;
        shown.textContent = any.checked ? "any" : slider.value;
        this.request();
      };
      any.addEventListener("change", set);
      slider.addEventListener("input", set);
      return element(
        "div", { class: "value" }, element("code", {}, `${name} = ${text}`), ` ${lower} to ${upper} `,
        element("label", {}, any, "any"), slider, shown,
      );
    });
    const label = element("span", { class: "label" }, "at run time");
    return element("div", { class: "controls runtimes" }, label, element("div", {}, ...rows));
  }

  _listen() {
    const { canvas } = this.output;
    const point = (/** @type {PointerEvent} */ event) => {
      if (this.isEmpty) return;
      const box = canvas.getBoundingClientRect();
      const { plane, index } = this.output.at(event.clientX - box.left, event.clientY - box.top);
      if (index) this._set(index);
      else this._set([...this.output.outerIndex(plane), ...this.index.slice(-2)]);
    };
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const rank = this.sizes.length;
      const step = event.shiftKey ? 10 : 1;
      const moves = /** @type {Record<string, [number, number]>} */ ({
        ArrowRight: [rank - 1, step], ArrowLeft: [rank - 1, -step],
        ArrowDown: [rank - 2, step], ArrowUp: [rank - 2, -step],
        PageDown: [rank - 3, step], PageUp: [rank - 3, -step],
      });
      const found = moves[event.key];
      if (!found && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      event.stopPropagation();
      if (found && found[0] >= 0) this.move(found[0], found[1], true);
      else if (!found) this._set(this.sizes.map((n) => (event.key === "Home" ? 0 : n - 1)), true);
    });
    for (const { picture } of this.reads) {
      if (!picture || picture.nOuter < 2) continue;
      picture.canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
        const box = picture.canvas.getBoundingClientRect();
        const { plane, index } = picture.at(event.clientX - box.left, event.clientY - box.top);
        if (index) return;
        picture.plane = plane;
        this.request();
      });
    }
  }

  // --------------------------------------------------------------------------------------------------------- updating

  /** @param {number} d @param {number} by @param {boolean} isSpoken */
  move(d, by, isSpoken) {
    const index = this.index.slice();
    index[d] = Math.max(0, Math.min(this.sizes[d] - 1, index[d] + by));
    this._set(index, isSpoken);
  }

  /** @param {number[]} index @param {boolean} [isSpoken] */
  _set(index, isSpoken = true) {
    if (index.every((n, d) => n === this.index[d])) return;
    this.index = index;
    this.request(isSpoken);
  }

  /** Updates in the next frame. */
  request(isSpoken = true) {
    this.isSpoken = this.isSpoken || isSpoken;
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => {
      this.isQueued = false;
      this.update(this.isSpoken ?? true);
      this.isSpoken = false;
    });
  }

  /** The box of the output that is lit. @returns {[number, number][]} */
  box() {
    return this.index.map((n, d) => {
      const from = Math.floor(n / this.tile[d]) * this.tile[d];
      return /** @type {[number, number]} */ ([from, Math.min(this.sizes[d], from + this.tile[d]) - 1]);
    });
  }

  /** The elements that a box of the output reads of one array.
   * @param {{read: Read, maps: IndexMap[]}} one @param {[number, number][]} box */
  images({ read, maps }, box) {
    return maps.map((map) => {
      /** @type {([Int, Int] | null)[]} */
      const values = map.dims.map((_, d) => (map.dims.length === box.length ? box[d] : null));
      map.ranges.forEach(() => values.push(null));
      for (const variable of map.runtime) {
        const value = this.runtime.get(runtimeKey(read, variable.name) ?? "") ?? null;
        values.push(value === null ? null : [value, value]);
      }
      return imageOfMap(map, values);
    });
  }

  /** Whether all possible values of a runtime variable count. @param {{read: Read, maps: IndexMap[]}} one */
  isAny({ read, maps }) {
    const isSet = (/** @type {string} */ name) => (this.runtime.get(runtimeKey(read, name) ?? "") ?? null) !== null;
    return maps.some((map) => map.runtime.some(({ name }) => !isSet(name)));
  }

  /** @param {boolean} isSpoken */
  update(isSpoken) {
    if (this.isEmpty) {
      this.sentence.textContent = "the output has no elements";
      return;
    }
    const box = this.box();
    const isTile = box.some(([from, to]) => to > from);
    const where = box.map(([from, to]) => (from === to ? String(from) : `${from}:${to + 1}`)).join(", ");
    this.output.plane = this.output.planeOf(this.index);
    const parts = box.map(([from, to], d) => ({ results: [d], start: from, step: 1, n: to - from + 1 }));
    this.output.light([{ parts, isEmpty: false, isCut: false, overflow: false, unknown: false }]);
    this.outputNote.textContent = planeText(this.output);
    const lines = [];
    /** @type {any[]} */
    const rows = [];
    for (const one of this.reads) {
      const images = this.images(one, box);
      const found = summarize(images, one, this.isAny(one));
      const { picture } = one;
      if (picture) {
        picture.isUnknown = found.isUnknown;
        picture.isBound = found.isUpper;
        picture.light(images);
      }
      const plane = picture ? planeText(picture) : "";
      one.note.textContent = [found.text, plane, found.warning].filter(Boolean).join("; ");
      one.root.classList.toggle("unread", found.isNothing);
      lines.push(`${one.label}: ${found.text}`);
      rows.push({ label: one.label, found });
    }
    this._writeFields();
    const subject = this.sizes.length ? `${isTile ? "tile" : "output"} (${where})` : "the output";
    this.sentence.textContent = `${subject} reads ${lines.length ? lines.join("; ") : "nothing"}`;
    this._writeTable(rows);
    if (isSpoken) this.actions.announce(this.sentence.textContent ?? "");
  }

  _writeFields() {
    this.fields.forEach((field, d) => {
      if (field !== document.activeElement) field.value = String(this.index[d]);
    });
  }

  /** @param {any[]} rows */
  _writeTable(rows) {
    if (!this.table.closest("details")?.open) {
      this.table.closest("details")?.addEventListener("toggle", () => this._writeTable(rows), { once: true });
      return;
    }
    this.table.replaceChildren(
      ...rows.map(({ label, found }) => {
        const cells = [found.count, found.bytes, found.listed].map((text) => element("td", {}, text));
        return element("tr", {}, element("th", { scope: "row" }, label), ...cells);
      }),
    );
  }
}

/**
 * How many elements images have, which, and what to know about it.
 * @param {Image[]} images @param {{read: Read, shape: ShapeRecord}} one
 * @param {boolean} isAny whether all values at run time count, of which one occurs
 */
function summarize(images, { read, shape }, isAny) {
  const warning = [
    images.some((image) => image.isCut) && `${formatInt(MOST_POINTS)} points of a map are enumerated: a part is shown`,
    images.some((image) => image.overflow) && "a result does not fit in 64 bits and is not shown",
    read.left_out && "not all maps are in the page: a part is shown",
  ].filter(Boolean).join("; ");
  const isUnread = images.length < read.maps.length; // a map that the page cannot read
  if (read.status === "unknown" || isUnread || images.some((image) => image.unknown)) {
    const text = `unknown, up to all of ${shape.text}`;
    const row = { count: "unknown", bytes: "unknown", listed: "" };
    return { text, warning, ...row, isUnknown: true, isUpper: true, isNothing: false };
  }
  const sum = images.reduce((n, image) => n + countOf(image), 0n);
  let [count, isBound] = [sum, false];
  let elements = images.flatMap((image) => elementsOf(image, MOST_LISTED));
  if (images.length > 1) {
    if (sum <= MOST_MERGED) {
      const all = images.flatMap((image) => elementsOf(image, MOST_MERGED));
      const merged = new Map(all.map((tuple) => [tuple.join(), tuple]));
      count = BigInt(merged.size);
      elements = [...merged.values()].slice(0, MOST_LISTED);
    } else isBound = true;
  }
  const total = BigInt(shape.elements ?? 0);
  if (isBound && total && count > total) count = total;
  const isPart = Boolean(warning);
  const isUpper = isBound || isAny || read.status !== "exact";
  const prefix = isPart ? (isUpper ? "a part of them, " : "at least ") : isUpper ? "at most " : "";
  const size = total ? Number(shape.bytes ?? 0) / Number(total) : 0;
  const isNothing = count === 0n && !isPart;
  const more = isAny && count ? ", for any value at run time" : "";
  const listed = elements.map((tuple) => `(${tuple.join(", ")})`).join(" ");
  return {
    text: isNothing ? "nothing" : prefix + plural(count, "element") + whichText(elements, count) + more,
    warning,
    count: prefix + formatInt(count),
    bytes: size ? prefix + shortBytes(Math.ceil(Number(count) * size)) : "?",
    listed: listed + (count > BigInt(elements.length) ? " …" : ""),
    isUnknown: false,
    isUpper,
    isNothing,
  };
}

/** @param {Int[][]} elements @param {bigint} count */
function whichText(elements, count) {
  if (!elements.length || count > 3n || !elements[0].length) return "";
  return ` ${elements.map((tuple) => `(${tuple.join(", ")})`).join(" ")}`;
}

/** The shown plane of an array of more than two dimensions. @param {ArrayPicture} picture */
function planeText(picture) {
  if (!picture.strip) return "";
  const more = picture.nPlanes > 1 ? `, ${formatInt(picture.nPlanes)} planes lit` : "";
  return `plane [${picture.outerIndex(picture.plane).join(", ")}, :, :] of ${picture.outer.join("×")}${more}`;
}

/** What a runtime variable is the value of; null where that is not clear. @param {Read} read @param {string} name */
function runtimeKey(read, name) {
  const own = (read.runtime ?? []).filter(([other]) => other === name);
  return own.length === 1 ? `${own[0][1]} ${own[0][2]}` : null;
}

/** Powers of two up to the size, and the size. @param {number} n */
function tileSizes(n) {
  const sizes = [];
  for (let size = 1; size < n; size *= 2) sizes.push(size);
  return [...sizes, Math.max(1, n)];
}

/** @param {(number | string | null)[] | undefined} counts */
const isBound = (counts) => Boolean(counts && counts[0] !== counts[1]);

/** @param {Read} read */
function reuseOf(read) {
  const { reads, distinct } = read;
  if (!reads || !distinct || isBound(reads) || isBound(distinct) || !Number(distinct[1])) return "";
  const reuse = Number(reads[1]) / Number(distinct[1]);
  return reuse > 1 ? `each element read ${Number(reuse.toPrecision(4)).toLocaleString("en-US")} times` : "";
}
