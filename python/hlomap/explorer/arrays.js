// Pictures of arrays on canvases: the two last dimensions as a plane, the others as a strip, and lit elements in them.
//
// Read class ArrayPicture.  A picture has the proportions of the array where they can be seen; an element that is
// smaller than a pixel lights the pixel that it is in, so a lit pixel of a large array stands for several elements.
"use strict";

const LONGEST = 208; // pixels of the longer side
const SHORTEST = 14;
const STRIP = 10;
const MOST_OUTER = 65536;

class ArrayPicture {
  /** @param {ShapeRecord} shape @param {string} label */
  constructor(shape, label) {
    this.sizes = (shape.dims ?? []).map(Number);
    this.rank = this.sizes.length;
    this.columns = this.rank ? this.sizes[this.rank - 1] : 1;
    this.rows = this.rank > 1 ? this.sizes[this.rank - 2] : 1;
    this.outer = this.sizes.slice(0, -2);
    this.nOuter = this.outer.reduce((n, size) => n * size, 1);
    this.plane = 0;
    const ratio = Math.min(LONGEST / SHORTEST, Math.max(SHORTEST / LONGEST, this.columns / Math.max(1, this.rows)));
    const unit = Math.min(22, LONGEST / Math.max(1, Math.max(this.columns, this.rows)));
    const longer = Math.min(LONGEST, unit * Math.max(this.columns, this.rows));
    this.width = Math.max(this.columns > 1 ? 2 * SHORTEST : SHORTEST, Math.round(longer * Math.min(1, ratio)));
    this.height = Math.max(SHORTEST, Math.round(longer / Math.max(1, ratio)));
    this.strip = this.nOuter > 1 ? STRIP : 0;
    this.canvas = element("canvas", { role: "img", "aria-label": label });
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round((this.width + 1) * scale);
    this.canvas.height = Math.round((this.height + 1 + (this.strip ? this.strip + 5 : 0)) * scale);
    this.canvas.style.width = `${this.width + 1}px`;
    this.canvas.style.height = `${this.height + 1 + (this.strip ? this.strip + 5 : 0)}px`;
    this.context = this.canvas.getContext("2d");
    this.context.scale(scale, scale);
    this.top = this.strip ? this.strip + 5 : 0;
    /** The pixels of the plane and of the strip that are lit. */
    this.mask = new Uint8Array(this.width * this.height);
    this.outerMask = new Uint8Array(this.width);
    this.nPlanes = 0;
    /** Whether any element may be read, since nothing is known. */
    this.isUnknown = false;
    /** Whether the lit elements may be read, but not all are. */
    this.isBound = false;
  }

  /** The index in the outer dimensions of a plane. @param {number} plane */
  outerIndex(plane) {
    const index = [];
    for (let d = this.outer.length - 1; d >= 0; d--) {
      index.unshift(plane % this.outer[d]);
      plane = Math.floor(plane / this.outer[d]);
    }
    return index;
  }

  /** The plane of an element. @param {number[]} index */
  planeOf(index) {
    return this.outer.reduce((plane, size, d) => plane * size + index[d], 0);
  }

  /** What is at a point of the canvas: an element, or a plane of the strip. @param {number} x @param {number} y */
  at(x, y) {
    const part = (/** @type {number} */ at, /** @type {number} */ length, /** @type {number} */ n) =>
      Math.max(0, Math.min(n - 1, Math.floor((at / length) * n)));
    if (this.strip && y < this.strip) return { plane: part(x, this.width, this.nOuter), index: null };
    const column = part(x, this.width, this.columns);
    const row = part(y - this.top, this.height, this.rows);
    const inner = this.rank > 1 ? [row, column] : this.rank ? [column] : [];
    return { plane: this.plane, index: [...this.outerIndex(this.plane), ...inner] };
  }

  clear() {
    this.mask.fill(0);
    this.outerMask.fill(0);
  }

  /** Lights the elements of images; shows the first plane that has one. @param {Image[]} images */
  light(images) {
    this.clear();
    const lit = images.filter((image) => !image.isEmpty && !image.unknown);
    /** @type {Set<number>} */
    const planes = new Set();
    for (const image of lit) this._planes(image, planes);
    this.nPlanes = planes.size;
    if (planes.size && !planes.has(this.plane)) this.plane = Math.min(...planes);
    for (const plane of planes) this.outerMask[Math.floor((plane / this.nOuter) * this.width)] = 1;
    for (const image of lit) this._plane(image);
    this.draw();
  }

  /** Adds the planes that an image reaches. @param {Image} image @param {Set<number>} found */
  _planes(image, found) {
    const n = this.outer.length;
    /** @type {number[]} */
    let planes = [0];
    const strides = this.outer.map((_, d) => this.outer.slice(d + 1).reduce((a, b) => a * b, 1));
    for (const part of image.parts) {
      const at = part.results.map((result, i) => ({ result, i })).filter(({ result }) => result < n);
      if (!at.length) continue;
      const own = new Set();
      for (let k = 0; k < part.n && k < MOST_OUTER; k++) {
        own.add(at.reduce((sum, { result, i }) => sum + Number(valueAt(part, k, i)) * strides[result], 0));
      }
      const isMuch = planes.length * own.size > MOST_OUTER;
      planes = planes.flatMap((base) => (isMuch ? [base] : [...own].map((plane) => base + plane)));
    }
    for (const plane of planes) found.add(plane);
  }

  /**
   * The points of a part that can change the shown plane. Of the elements of a step that is long, each pixel needs one.
   * @param {Part} part @param {number | null} plane @param {boolean} isRow @returns {Iterable<number>}
   */
  *_visible(part, plane, isRow) {
    const step = Number(part.step ?? 1);
    let [k, end, skip] = [0, part.n, 1];
    if (!part.points && plane !== null) {
      k = (plane - Number(part.start ?? 0)) / step;
      if (!Number.isInteger(k) || k < 0 || k >= end) return;
      end = k + 1;
    } else if (!part.points) {
      const [n, length] = isRow ? [this.rows, this.height] : [this.columns, this.width];
      skip = Math.max(1, Math.floor(Math.floor(n / length) / Math.abs(step)));
    }
    for (; k < end - 1; k += skip) yield k;
    yield end - 1;
  }

  /** Marks the pixels of the shown plane. @param {Image} image */
  _plane(image) {
    const n = this.outer.length;
    const outer = this.outerIndex(this.plane);
    const [rowResult, columnResult] = this.rank > 1 ? [n, n + 1] : [-1, 0];
    /** @type {Uint8Array | null} */
    let rows = null;
    /** @type {Uint8Array | null} */
    let columns = null;
    /** @type {number[] | null} */
    let pairs = null;
    for (const part of image.parts) {
      const r = part.results.indexOf(rowResult);
      const c = part.results.indexOf(columnResult);
      const fixed = part.results.map((result, i) => ({ result, i })).filter(({ result }) => result < n);
      const isBoth = r >= 0 && c >= 0;
      const own = new Uint8Array(r >= 0 ? this.height : this.width);
      /** @type {number[]} */
      const both = [];
      let isThere = false;
      for (const k of this._visible(part, fixed.length ? outer[fixed[0].result] : null, r >= 0)) {
        if (!fixed.every(({ result, i }) => Number(valueAt(part, k, i)) === outer[result])) continue;
        isThere = true;
        if (isBoth) both.push(Number(valueAt(part, k, r)), Number(valueAt(part, k, c)));
        else if (r >= 0) mark(own, Number(valueAt(part, k, r)), this.rows, this.height);
        else if (c >= 0) mark(own, Number(valueAt(part, k, c)), this.columns, this.width);
        else break;
      }
      if (!isThere) return;
      if (isBoth) pairs = both;
      else if (r >= 0) rows = own;
      else if (c >= 0) columns = own;
    }
    if (pairs) {
      for (let k = 0; k < pairs.length; k += 2) {
        const ys = new Span(pairs[k], this.rows, this.height);
        const xs = new Span(pairs[k + 1], this.columns, this.width);
        for (let y = ys.from; y < ys.to; y++) this.mask.fill(1, y * this.width + xs.from, y * this.width + xs.to);
      }
      return;
    }
    for (let y = 0; y < this.height; y++) {
      if (rows && !rows[y]) continue;
      for (let x = 0; x < this.width; x++) if (!columns || columns[x]) this.mask[y * this.width + x] = 1;
    }
  }

  draw() {
    const { context, width, height, top } = this;
    const colours = pictureColours();
    context.clearRect(0, 0, width + 1, height + top + 1);
    if (this.strip) {
      context.fillStyle = colours.cell;
      context.fillRect(0, 0, width, this.strip);
      context.fillStyle = this.isOutput ? colours.output : colours.read;
      const one = Math.max(1, width / this.nOuter);
      for (let x = 0; x < width; x++) if (this.outerMask[x]) context.fillRect(x, 0, one, this.strip);
      context.strokeStyle = colours.ink;
      const from = (this.plane / this.nOuter) * width;
      context.strokeRect(from + 0.5, 0.5, Math.max(2, width / this.nOuter - 1), this.strip - 1);
    }
    context.fillStyle = colours.cell;
    context.fillRect(0, top, width, height);
    context.fillStyle = this.isOutput ? colours.output : colours.read;
    context.globalAlpha = this.isBound ? 0.5 : 1;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        if (!this.mask[y * width + x]) continue;
        let end = x + 1;
        while (end < width && this.mask[y * width + end]) end++;
        context.fillRect(x, top + y, end - x, 1);
        x = end;
      }
    }
    context.globalAlpha = 1;
    if (this.isUnknown) hatch(context, top, width, height, colours.warn);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    if (width / this.columns >= 5) {
      for (let c = 1; c < this.columns; c++) {
        const x = Math.round((c / this.columns) * width) + 0.5;
        context.moveTo(x, top);
        context.lineTo(x, top + height);
      }
    }
    if (height / this.rows >= 5) {
      for (let r = 1; r < this.rows; r++) {
        const y = top + Math.round((r / this.rows) * height) + 0.5;
        context.moveTo(0, y);
        context.lineTo(width, y);
      }
    }
    context.stroke();
    context.strokeStyle = colours.frame;
    context.strokeRect(0.5, top + 0.5, width, height);
  }
}

/** Diagonal lines over a rectangle. @param {any} context @param {number} top @param {number} width
 * @param {number} height @param {string} colour */
function hatch(context, top, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(0, top, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.beginPath();
  for (let x = -height; x < width; x += 8) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

/** The pixels of an index, at least three wide where elements are smaller than that. */
class Span {
  /** @param {number} index @param {number} n @param {number} length */
  constructor(index, n, length) {
    this.from = Math.min(length - 1, Math.floor((index / n) * length));
    const least = length > n ? 1 : Math.min(3, length - this.from);
    this.to = Math.max(this.from + least, Math.floor(((index + 1) / n) * length));
  }
}

/** @param {Uint8Array} pixels @param {number} index @param {number} n @param {number} length */
function mark(pixels, index, n, length) {
  const span = new Span(index, n, length);
  pixels.fill(1, span.from, span.to);
}

/** @type {Record<string, string> | null} */
let colourCache = null;

/** The colours of pictures from the style of the page; reread when the theme changes. */
function pictureColours() {
  if (!colourCache) {
    const style = getComputedStyle(document.documentElement);
    const get = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    colourCache = {
      cell: get("--cell"), line: get("--cell-line"), frame: get("--frame"), ink: get("--ink"), read: get("--read"),
      output: get("--output"), warn: get("--warn"),
    };
  }
  return colourCache;
}

/** The layout of a shape: a table of positions in memory, coloured by tile.
 * @param {Model} model @param {ShapeRecord} shape */
function layoutTable(model, shape) {
  const map = shape.layout.map && model.map(shape.layout.map);
  const sizes = (shape.dims ?? []).map(Number);
  if (!map || !sizes.length || sizes.some((n) => n === 0)) return null;
  const rank = sizes.length;
  const [rowWidth, columnWidth] = shape.layout.widths;
  const rows = rank > 1 ? shownIndices(sizes[rank - 2], rowWidth) : [0];
  const columns = shownIndices(sizes[rank - 1], columnWidth);
  /** The colours of tiles, in order of appearance. @type {Map<bigint, number>} */
  const tiles = new Map();
  const body = rows.map((r) => {
    const cells = columns.map((c) => {
      if (r === null || c === null) return element("td", { class: "gap" }, "…");
      const point = [...new Array(Math.max(0, rank - 2)).fill(0), ...(rank > 1 ? [r, c] : [c])];
      const { inside, results } = evaluateMap(map, point);
      if (!inside) return element("td", {}, "?");
      const tile = results[0] / BigInt(shape.layout.block);
      if (!tiles.has(tile)) tiles.set(tile, tiles.size % 8);
      return element("td", { class: `tile${tiles.get(tile)}` }, String(results[0]));
    });
    return element("tr", {}, rank > 1 && element("th", { scope: "row" }, r === null ? "…" : String(r)), ...cells);
  });
  const head = columns.map((c) => element("th", { scope: "col" }, c === null ? "…" : String(c)));
  return element(
    "table", { class: "layout" }, element("caption", {}, "position in memory of each element, a colour for each tile"),
    element("thead", {}, element("tr", {}, rank > 1 && element("td"), ...head)), element("tbody", {}, ...body),
  );
}

/** The indices of an axis to show: the ends, and the end of the first tile; null for a gap.
 * @param {number} n @param {number} width of a tile @returns {(number | null)[]} */
function shownIndices(n, width) {
  if (n <= 8) return Array.from({ length: n }, (_, i) => i);
  const ofTile = width > 1 && width < n ? [width - 1, width] : [3, 4];
  const shown = [...new Set([0, 1, 2, ...ofTile, n - 2, n - 1])].filter((i) => i < n).sort((a, b) => a - b);
  return shown.flatMap((i, k) => (k && i > shown[k - 1] + 1 ? [null, i] : [i]));
}
