// The graph of one computation: boxes for instructions, edges as wide as the bytes they carry, computations inside.
//
// Read class GraphView.  Of a large computation the instructions nearest to the selected one are laid out, at most
// MOST_NODES; badges say how many neighbours are left out.  Nothing is laid out before it is shown.
"use strict";

const MOST_NODES = 160;
const MOST_INSIDE = 60;
const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, any>} attributes @param {...any} children @returns {any} */
function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children.filter(Boolean));
  return made;
}

/** @param {string} text @param {number} n */
const shorten = (text, n) => (text.length <= n ? text : `${text.slice(0, n - 1)}…`);

/**
 * The instructions of a computation that are nearest to one of them, along operands and users.
 * @param {Model} model @param {number} c @param {number} center @param {number} most
 */
function nearest(model, c, center, most) {
  const { first, n } = model.computations[c];
  if (n <= most) return Array.from({ length: n }, (_, k) => first + k);
  const found = new Set([center]);
  const queue = [center];
  for (let k = 0; k < queue.length && found.size < most; k++) {
    // Of a value with very many neighbours a few, so that one parameter does not fill the graph.
    const near = [...model.operandsOf(queue[k]).slice(0, 12), ...model.usersOf(queue[k]).slice(0, 12)];
    for (const other of near) {
      if (found.size >= most || found.has(other)) continue;
      found.add(other);
      queue.push(other);
    }
  }
  return [...found].sort((a, b) => a - b);
}

class GraphView {
  /** @param {any} svg @param {{select: (i: number) => void, toggle: (i: number) => void}} actions */
  constructor(svg, actions) {
    this.svg = svg;
    this.actions = actions;
    /** @type {Map<number, any>} */
    this.boxes = new Map();
    /** @type {Map<number, {x: number, y: number, w: number, h: number}>} */
    this.places = new Map();
    this.view = { x: 0, y: 0, scale: 1 };
    this.size = { width: 100, height: 100 };
    /** @type {any[]} */
    this.edges = [];
    this._pan();
  }

  /**
   * Draws a computation around an instruction.
   * @param {Model} model @param {number} c @param {number} center @param {Set<number>} expanded
   * @param {(i: number) => string} mark what a diff says of an instruction
   */
  show(model, c, center, expanded, mark) {
    this.model = model;
    this.expanded = expanded;
    this.mark = mark;
    this.boxes.clear();
    this.places.clear();
    this.edges = [];
    const scene = this._scene(c, center, MOST_NODES, 0);
    this.size = { width: scene.width, height: scene.height };
    this.world = drawn("g", {});
    this._draw(scene, 0, 0, this.world);
    const wanted = this.model.computations[c].n;
    this.hidden = wanted - scene.ids.length;
    this.svg.replaceChildren(this.world);
  }

  /** @param {number} c @param {number} center @param {number} most @param {number} depth @returns {any} */
  _scene(c, center, most, depth) {
    const model = /** @type {Model} */ (this.model);
    const ids = nearest(model, c, center, most);
    const at = new Map(ids.map((i, k) => [i, k]));
    const nodes = ids.map((i) => this._node(i, depth));
    /** @type {Map<string, {from: number, to: number, bytes: number}>} */
    const edges = new Map();
    ids.forEach((i, to) => {
      model.operandsOf(i).forEach((operand, k) => {
        const from = at.get(operand);
        if (from === undefined || from === to) return;
        const found = edges.get(`${from} ${to}`) ?? { from, to, bytes: 0 };
        found.bytes += model.bytesRead(i, k);
        edges.set(`${from} ${to}`, found);
      });
    });
    const list = [...edges.values()];
    const layout = layoutGraph(nodes, list.map(({ from, to }) => /** @type {[number, number]} */ ([from, to])));
    return { c, ids, at, nodes, edges: list, layout, width: layout.width, height: layout.height };
  }

  /** @param {number} i @param {number} depth */
  _node(i, depth) {
    const model = /** @type {Model} */ (this.model);
    const kind = model.kindOf(i);
    const shape = shorten(model.shapeOf(i).text.replace(/\{[^{}]*\}/g, ""), 26);
    const name = shorten(model.nameOf(i), 26);
    const opcode = shorten(model.opcodeOf(i), 22);
    const calls = model.callsOf(i);
    const isOpen = this.expanded?.has(i) && calls.length > 0 && depth < 6;
    const length = Math.max(name.length, shape.length * 0.92 + 2.5, opcode.length + (calls.length ? 5 : 0));
    const [w, h] = [Math.max(84, length * 7 + 20), kind === "source" ? 34 : 46];
    const node = { i, kind, name, shape, opcode, calls, isOpen, w, h, inner: /** @type {any[]} */ ([]) };
    if (isOpen) {
      node.inner = calls.map((c) => this._scene(c, model.computations[c].root, MOST_INSIDE, depth + 1));
      node.w = Math.max(node.w, node.inner.reduce((w, scene) => w + scene.width + 24, 8));
      node.h = 58 + Math.max(...node.inner.map((scene) => scene.height + 34));
    }
    return node;
  }

  /** @param {any} scene @param {number} x @param {number} y @param {any} parent */
  _draw(scene, x, y, parent) {
    const model = /** @type {Model} */ (this.model);
    for (const [e, edge] of scene.edges.entries()) {
      const [user, operand] = [scene.ids[edge.to], scene.ids[edge.from]];
      const line = drawn("path", {
        class: "edge", d: curve(scene.layout.routes[e], x, y), "stroke-width": edgeWidth(edge.bytes),
      });
      const title = `${model.nameOf(operand)} → ${model.nameOf(user)}: ${plural(edge.bytes, "byte")} read`;
      line.append(drawn("title", {}, title));
      parent.append(line);
      this.edges.push({ line, operand, user });
    }
    scene.nodes.forEach((/** @type {any} */ node, /** @type {number} */ k) => {
      const { x: cx, y: cy } = scene.layout.centers[k];
      const [left, top] = [x + cx - node.w / 2, y + cy - node.h / 2];
      const box = this._box(node, left, top);
      parent.append(box);
      this._badges(node, scene, box);
      let at = left + 12;
      for (const inner of node.inner) {
        const frame = drawn("g", {});
        const title = shorten(model.computations[inner.c].name, Math.max(8, Math.floor(inner.width / 7)));
        const more = model.computations[inner.c].n - inner.ids.length;
        frame.append(drawn("text", { x: at, y: top + 62, class: "inner" }, more ? `${title}, ${more} more` : title));
        this._draw(inner, at, top + 74, frame);
        parent.append(frame);
        at += inner.width + 24;
      }
    });
  }

  /** @param {any} node @param {number} left @param {number} top */
  _box(node, left, top) {
    const model = /** @type {Model} */ (this.model);
    const { i } = node;
    const mark = this.mark?.(i) ?? "";
    const status = model.statusOf(i);
    const state = node.calls.length ? (node.isOpen ? "open" : "closed") : "";
    const box = drawn("g", {
      class: `node ${node.kind}${node.isOpen ? " open" : ""}${mark ? ` ${mark}` : ""}`, id: `node-${i}`, role: "option",
      "aria-selected": "false", transform: `translate(${left} ${top})`,
      "aria-label": `${model.nameOf(i)}, ${model.opcodeOf(i)}, ${model.shapeOf(i).text}` +
        `, ${plural(model.operandsOf(i).length, "operand")}, ${plural(model.usersOf(i).length, "user")}` +
        [status, mark, state].map((one) => one && `, ${one}`).join(""),
    });
    box.append(drawn("title", {}, `${model.nameOf(i)} = ${model.shapeOf(i).text} ${model.opcodeOf(i)}`));
    box.append(drawn("rect", { class: "body", width: node.w, height: node.h, rx: node.kind === "source" ? 14 : 5 }));
    box.append(drawn("text", { x: 10, y: 15, class: "opcode" }, node.opcode));
    box.append(drawn("text", { x: 10, y: 28, class: "name" }, node.name));
    if (node.kind !== "source") box.append(drawn("text", { x: 10, y: 40, class: "shape" }, node.shape));
    const ofMark = { added: "+", removed: "−", fused: "◆" }[mark];
    const text = [ofMark, { unknown: "?", "over-approximate": "≥" }[status]].filter(Boolean).join(" ");
    if (text) box.append(drawn("text", { x: node.w - 8, y: (node.isOpen ? 46 : node.h) - 6, class: "flag" }, text));
    if (node.calls.length) {
      const toggle = drawn("g", { class: "toggle" });
      toggle.append(drawn("rect", { x: node.w - 22, y: 4, width: 16, height: 14, rx: 3 }));
      toggle.append(drawn("text", { x: node.w - 14, y: 15 }, node.isOpen ? "−" : "+"));
      toggle.append(drawn("title", {}, node.isOpen ? "close" : "open: show what it computes"));
      toggle.addEventListener("click", (/** @type {Event} */ event) => {
        event.stopPropagation();
        this.actions.toggle(i);
      });
      box.append(toggle);
    }
    box.addEventListener("click", () => this.actions.select(i));
    box.addEventListener("dblclick", () => node.calls.length && this.actions.toggle(i));
    this.boxes.set(i, box);
    this.places.set(i, { x: left, y: top, w: node.w, h: node.h });
    return box;
  }

  /** The numbers of operands and users that are not laid out. @param {any} node @param {any} scene @param {any} box */
  _badges(node, scene, box) {
    const model = /** @type {Model} */ (this.model);
    const out = (/** @type {number[]} */ list) => new Set(list.filter((other) => !scene.at.has(other))).size;
    const [above, below] = [out(model.operandsOf(node.i)), out(model.usersOf(node.i))];
    if (above) box.append(drawn("text", { x: node.w / 2, y: -4, class: "badge" }, `${above} more`));
    if (below) box.append(drawn("text", { x: node.w / 2, y: node.h + 11, class: "badge" }, `${below} more`));
  }

  /** Marks the selected instruction, its operands and its users. @param {number} i */
  select(i) {
    for (const [number, box] of this.boxes) {
      box.classList.toggle("selected", number === i);
      box.setAttribute("aria-selected", String(number === i));
    }
    for (const { line, operand, user } of this.edges) {
      line.classList.toggle("in", user === i);
      line.classList.toggle("out", operand === i);
    }
  }

  /** Moves the view so that an instruction can be seen. @param {number} i */
  reveal(i) {
    const place = this.places.get(i);
    if (!place) return;
    const { clientWidth: width, clientHeight: height } = this.svg.parentElement;
    const left = place.x * this.view.scale + this.view.x;
    const top = place.y * this.view.scale + this.view.y;
    const [w, h] = [place.w * this.view.scale, Math.min(height / 2, place.h * this.view.scale)];
    if (left < 12 || left + w > width - 12) this.view.x += width / 2 - w / 2 - left;
    if (top < 12 || top + h > height - 12) this.view.y += height / 2 - h / 2 - top;
    this._apply();
  }

  /** Shows everything, or what is around an instruction where that would be too small. @param {number} i */
  fit(i) {
    const { clientWidth: width, clientHeight: height } = this.svg.parentElement;
    const scale = Math.min(1.1, (width - 32) / this.size.width, (height - 32) / this.size.height);
    const isSmall = scale < 0.55;
    this.view.scale = isSmall ? 0.85 : scale;
    this.view.x = (width - this.size.width * this.view.scale) / 2;
    this.view.y = isSmall ? 16 : (height - this.size.height * this.view.scale) / 2;
    this._apply();
    if (isSmall) this.center(i);
  }

  /** @param {number} i */
  center(i) {
    const place = this.places.get(i);
    if (!place) return;
    const { clientWidth: width, clientHeight: height } = this.svg.parentElement;
    this.view.x = width / 2 - (place.x + place.w / 2) * this.view.scale;
    this.view.y = height / 2 - (place.y + Math.min(place.h, height / this.view.scale) / 2) * this.view.scale;
    this._apply();
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x = this.svg.parentElement.clientWidth / 2, y = this.svg.parentElement.clientHeight / 2) {
    const scale = Math.min(3, Math.max(0.08, this.view.scale * factor));
    this.view.x = x - ((x - this.view.x) * scale) / this.view.scale;
    this.view.y = y - ((y - this.view.y) * scale) / this.view.scale;
    this.view.scale = scale;
    this._apply();
  }

  /** Shows the whole graph on paper. @param {boolean} isPaper */
  print(isPaper) {
    this.isPaper = isPaper;
    if (isPaper) this.svg.setAttribute("viewBox", `-16 -16 ${this.size.width + 32} ${this.size.height + 32}`);
    else this.svg.removeAttribute("viewBox");
    this._apply();
  }

  _apply() {
    const { x, y, scale } = this.isPaper ? { x: 0, y: 0, scale: 1 } : this.view;
    this.world?.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
  }

  _pan() {
    /** @type {{x: number, y: number} | null} */
    let from = null;
    this.svg.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      if (event.button === 0 && !(/** @type {Element} */ (event.target).closest(".node"))) {
        from = { x: event.clientX - this.view.x, y: event.clientY - this.view.y };
        this.svg.setPointerCapture(event.pointerId);
      }
    });
    this.svg.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (!from) return;
      this.view.x = event.clientX - from.x;
      this.view.y = event.clientY - from.y;
      this._apply();
    });
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => (from = null));
    this.svg.addEventListener(
      "wheel",
      (/** @type {WheelEvent} */ event) => {
        event.preventDefault();
        const { left, top } = this.svg.getBoundingClientRect();
        if (event.shiftKey) {
          this.view.x -= event.deltaY || event.deltaX;
          this._apply();
        } else this.zoom(Math.exp(-event.deltaY / 500), event.clientX - left, event.clientY - top);
      },
      { passive: false },
    );
  }
}

/** A line through points, vertical at both ends. @param {Point[]} points @param {number} x @param {number} y */
function curve(points, x, y) {
  const at = (/** @type {Point} */ p) => `${(p.x + x).toFixed(1)} ${(p.y + y).toFixed(1)}`;
  let text = `M${at(points[0])}`;
  for (let k = 1; k < points.length; k++) {
    const [a, b] = [points[k - 1], points[k]];
    const middle = (a.y + b.y) / 2;
    text += `C${at({ x: a.x, y: middle })} ${at({ x: b.x, y: middle })} ${at(b)}`;
  }
  return text;
}

/** Half a pixel more for each doubling of the bytes. @param {number} bytes */
function edgeWidth(bytes) {
  return Math.max(0.7, Math.min(12, 0.7 + 0.45 * Math.max(0, Math.log2(bytes + 1) - 4))).toFixed(1);
}
