// The page: one module at a time, a selected instruction, the computation that the graph shows, and the keys.
//
// Read class Explorer.  The data lie in JSON blocks; a module's block is read when the module is first shown.  The
// fragment of the address holds module and instruction, so that the browser's history works.
"use strict";

class Explorer {
  constructor() {
    const get = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
    this.get = get;
    this.index = readBlock("index");
    /** @type {(Model | null)[]} */
    this.models = this.index.modules.map(() => null);
    /** @type {any[]} */
    this.diffs = this.index.diffs.map(() => null);
    this.module = -1;
    this.selected = -1;
    this.computation = 0;
    /** @type {Set<number>} */
    this.expanded = new Set();
    /** @type {{list: number[], k: number} | null} */
    this.siblings = null;
    const select = (/** @type {number} */ i) => this.select(i);
    this.list = new InstructionList(get("list"), { select, open: (i) => this.openGraph(i) });
    this.graph = new GraphView(get("drawing"), { select, toggle: (i) => this.toggle(i) });
    this.panel = new Panel(get("panel"), {
      announce: (text) => this.announce(text), open: select, enter: (c) => this.enter(c), mate: (i) => this.mate(i),
    });
    this._listen();
    this._modules();
    window.addEventListener("hashchange", () => this._fromAddress());
    if (!this._fromAddress()) {
      const first = this.index.modules.findIndex((/** @type {any} */ one) => one.block !== null);
      if (first >= 0) this.show(this.index.start ?? first);
      else get("panel").replaceChildren(element("p", { class: "warning" }, "no module could be read"));
    }
    document.documentElement.dataset.ready = "true";
  }

  // ---------------------------------------------------------------------------------------------------------- modules

  /** @param {number} m @returns {Model} */
  model(m = this.module) {
    return (this.models[m] ??= new Model(readBlock(this.index.modules[m].block)));
  }

  /** The diff with this module on a side. @param {"before" | "after"} side */
  diffWith(side) {
    const k = this.index.diffs.findIndex((/** @type {any} */ one) => one[side] === this.module);
    if (k < 0) return null;
    const diff = (this.diffs[k] ??= { ...readBlock(this.index.diffs[k].block), ...this.index.diffs[k] });
    if (!diff.marks) {
      const [before, after] = [new Map(), new Map()];
      for (const i of diff.removed) before.set(i, "removed");
      for (const i of diff.added) after.set(i, "added");
      for (const { fusion } of diff.fusions) after.set(fusion, "fused");
      diff.marks = { before, after };
      diff.to = new Map(diff.pairs.map((/** @type {number[]} */ [a, b, how]) => [a, { i: b, how: diff.how[how] }]));
      diff.from = new Map();
      for (const [a, b] of diff.again) diff.from.set(b, { i: a, how: "value, computed again" });
      for (const [a, b, how] of diff.pairs) diff.from.set(b, { i: a, how: diff.how[how] });
    }
    return diff;
  }

  /** The instruction on the other side of a diff.  A fusion, which only holds others, goes with its root.
   * @param {any} diff @param {"before" | "after"} to @param {number} i
   * @returns {{i: number, how: string} | undefined} */
  counterpart(diff, to, i) {
    const isBack = to === "before";
    const [own, other] = isBack ? [diff.after, diff.before] : [diff.before, diff.after];
    const pairs = isBack ? diff.from : diff.to;
    const found = pairs.get(i);
    const [called] = this.model(own).callsOf(i);
    if (found || called === undefined) return found;
    const root = pairs.get(this.model(own).computations[called].root);
    if (!root) return undefined;
    const model = this.model(other);
    const { kind, callers } = model.computations[model.computationOf(root.i)];
    return { i: kind === "fusion" && callers.length ? callers[0] : root.i, how: `${root.how} of its root` };
  }

  /** What a diff says of an instruction: "added", "removed", "fused" or nothing. @param {number} i */
  mark(i) {
    return this.diffWith("after")?.marks.after.get(i) ?? this.diffWith("before")?.marks.before.get(i) ?? "";
  }

  /** Facts about the instruction on the other side of a diff. @param {number} i @returns {[string, any[]][]} */
  mate(i) {
    /** @type {[string, any[]][]} */
    const facts = [];
    const go = (/** @type {number} */ m, /** @type {number} */ other) =>
      link(this.model(m).nameOf(other), () => this.show(m, other));
    const after = this.diffWith("after");
    if (after) {
      const found = this.counterpart(after, "before", i);
      if (found) facts.push(["before", [go(after.before, found.i), ` (by ${found.how})`]]);
      else if (after.marks.after.get(i) === "added") facts.push(["before", ["was not there"]]);
      const fusion = after.fusions.find((/** @type {any} */ one) => one.fusion === i);
      if (fusion) {
        /** @type {number[]} */
        const parts = fusion.parts.flatMap((/** @type {number} */ part) => after.from.get(part)?.i ?? []);
        const names = commas(parts.map((part) => go(after.before, part)), 12);
        facts.push(["fused from", names.length ? names : ["nothing that was there before"]]);
      }
    }
    const before = this.diffWith("before");
    if (before) {
      const found = this.counterpart(before, "after", i);
      const other = this.model(before.after);
      if (found) {
        const where = titleOf(other, other.computationOf(found.i));
        facts.push(["after", [go(before.after, found.i), ` in ${where} (by ${found.how})`]]);
      }
      else if (before.marks.before.get(i) === "removed") facts.push(["after", ["is gone"]]);
    }
    return facts;
  }

  /** Shows a module. @param {number} m @param {number} [i] the instruction to select */
  show(m, i) {
    if (m !== this.module) {
      this.module = m;
      this.expanded.clear();
      this.computation = -1;
      const model = this.model();
      const one = this.index.modules[m];
      this.get("title").textContent = model.name || one.name;
      document.title = `${model.name || one.name} – hlomap explore`;
      const counts = [plural(model.n, "instruction"), plural(model.computations.length, "computation")];
      this.get("summary").textContent = [one.stage, ...counts].filter(Boolean).join(", ");
      this.list.show(model, (k) => this.mark(k));
      this._switch();
      this._modules();
    }
    this.select(i ?? this.interesting());
  }

  /** Where to begin: what moves most bytes in the entry. */
  interesting() {
    const model = this.model();
    const { first, n, root } = model.computations[model.data.entry];
    const weight = (/** @type {number} */ i) => model.movedBy(i) * (model.kindOf(i) === "moves" ? 0.01 : 1);
    let best = root;
    for (let i = first; i < first + n; i++) if (weight(i) > weight(best)) best = i;
    return best;
  }

  /** Goes to the other side of the diff, to the same instruction if it is there. @param {"before" | "after"} side */
  goTo(side) {
    const diff = this.diffWith(side === "before" ? "after" : "before");
    if (!diff) return;
    const other = this.counterpart(diff, side, this.selected)?.i;
    this.show(diff[side], other);
  }

  _switch() {
    const names = this.index.modules;
    for (const [id, side, other] of [["before", "after", "before"], ["after", "before", "after"]]) {
      const diff = this.diffWith(/** @type {"before" | "after"} */ (side));
      const button = this.get(id);
      button.disabled = !diff;
      const one = diff && names[diff[other]];
      button.title = one ? `${id}: ${one.stage || one.name} (key ${id[0]})` : `nothing ${id}`;
    }
    this.get("switch").hidden = !this.index.diffs.length;
    const [a, b] = [this.diffWith("after"), this.diffWith("before")];
    this.get("before").setAttribute("aria-pressed", String(Boolean(b && !a)));
    this.get("after").setAttribute("aria-pressed", String(Boolean(a && !b)));
    const diff = a ?? b;
    const changes = this.get("changes");
    changes.hidden = !diff;
    if (diff) {
      const sections = diff.sections.map((/** @type {any} */ { heading, lines, n }) => {
        const rows = lines.map((/** @type {string} */ line) => element("li", {}, line));
        if (n > lines.length) rows.push(element("li", {}, `… ${n - lines.length} more`));
        return [element("h3", {}, heading), element("ul", {}, ...rows)];
      });
      changes.lastElementChild.replaceChildren(element("p", {}, diff.title), ...sections.flat());
    }
  }

  _modules() {
    const modules = this.index.modules;
    const nav = this.get("modules");
    nav.hidden = modules.length < 2 || (modules.length === 2 && this.index.diffs.length > 0);
    const rows = modules.map((/** @type {any} */ one, /** @type {number} */ m) => {
      const text = `${one.stage ? `${one.stage}` : ""}`;
      if (one.block === null) {
        return element("li", { class: "absent" }, one.name, " ", element("small", {}, `${text} ${one.error}`));
      }
      const button = link(one.name, () => this.show(m));
      if (m === this.module) button.setAttribute("aria-current", "true");
      return element("li", {}, button, " ", element("small", {}, `${text} ${plural(one.n, "instruction")}`));
    });
    nav.lastElementChild.replaceChildren(...rows);
    this.get("modules-count").textContent = plural(modules.length, "module");
  }

  // -------------------------------------------------------------------------------------------------------- selection

  /** @param {number} i @param {boolean} [keepsSiblings] */
  select(i, keepsSiblings = false) {
    const model = this.model();
    if (!(i >= 0 && i < model.n)) return;
    this.selected = i;
    if (!keepsSiblings) this.siblings = null;
    if (!this.graph.places.has(i) || this.computation < 0) {
      this.computation = model.computationOf(i);
      this.draw(i);
      this.graph.fit(i);
    } else {
      this.graph.select(i);
      this.graph.reveal(i);
    }
    this.get("graph").setAttribute("aria-activedescendant", `node-${i}`);
    this.list.select(i);
    this.panel.show(model, i);
    this._toAddress();
  }

  /** Draws the computation of the graph around an instruction. @param {number} i */
  draw(i) {
    const model = this.model();
    this.graph.show(model, this.computation, i, this.expanded, (k) => this.mark(k));
    this.graph.select(this.selected);
    this._path();
    const hidden = this.graph.hidden ?? 0;
    const shown = `the ${MOST_NODES} instructions nearest to ${model.nameOf(i)}`;
    this.get("hidden").textContent = hidden ? `${shown}; ${formatInt(hidden)} more: c centres on the selected one` : "";
  }

  /** Opens or closes the computations that an instruction calls, in place. @param {number} i */
  toggle(i) {
    if (!this.model().callsOf(i).length) return;
    if (!this.expanded.delete(i)) this.expanded.add(i);
    const { selected } = this;
    const isHere = this.graph.places.has(selected) && this.model().computationOf(selected) === this.computation;
    const center = isHere ? this.selected : i;
    const { view } = this.graph;
    const was = this.graph.places.get(i);
    const [x, y] = was ? [was.x * view.scale + view.x, was.y * view.scale + view.y] : [0, 0];
    this.selected = i;
    this.draw(center);
    const place = this.graph.places.get(i);
    if (place && was) {
      view.x = x - place.x * view.scale;
      view.y = y - place.y * view.scale;
    }
    this.select(i);
    this.announce(`${this.model().nameOf(i)} ${this.expanded.has(i) ? "open" : "closed"}`);
  }

  /** Shows a computation by itself. @param {number} c */
  enter(c) {
    this.computation = -1;
    this.select(this.model().computations[c].root);
  }

  /** Shows the caller of the computation. */
  leave() {
    const [caller] = this.model().computations[this.computation].callers;
    if (caller !== undefined) this.select(caller);
  }

  /** @param {number} i */
  openGraph(i) {
    this.select(i);
    this.graph.center(i);
    this.get("graph").focus();
  }

  _path() {
    const model = this.model();
    const path = [];
    let c = this.computation;
    for (let k = 0; k < 12 && c >= 0; k++) {
      const [caller] = model.computations[c].callers;
      path.unshift({ c, caller });
      c = caller === undefined ? -1 : model.computationOf(caller);
    }
    const steps = path.flatMap(({ c: one, caller }, k) => {
      const title = element("span", { class: "computation" }, titleOf(model, one));
      return caller === undefined || k === 0 ? [title] : [link(model.nameOf(caller), () => this.select(caller)), title];
    });
    this.get("path").replaceChildren(...steps.flatMap((step, k) => (k ? [" › ", step] : [step])));
  }

  _toAddress() {
    const address = `#m=${this.module}&i=${this.selected}`;
    if (location.hash !== address) history.pushState(null, "", address);
  }

  /** Whether the address names an instruction of the page. */
  _fromAddress() {
    const found = /^#m=(\d+)&i=(\d+)$/.exec(location.hash);
    const m = Number(found?.[1]);
    if (!found || !this.index.modules[m]?.block) return false;
    if (m === this.module && Number(found[2]) === this.selected) return true;
    this.show(m, Math.min(Number(found[2]), this.model(m).n - 1));
    return true;
  }

  // ------------------------------------------------------------------------------------------------------------- keys

  /** @param {string} text */
  announce(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.get("live").textContent = text), 200);
  }

  _listen() {
    const { get } = this;
    const search = get("search");
    search.addEventListener("input", () => {
      this.list.filter(search.value, get("order").value);
      const { length } = this.list.items;
      this.announce(plural(length, "instruction"));
      get("found").textContent = search.value ? `${formatInt(length)} ${length === 1 ? "match" : "matches"}` : "";
    });
    search.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && this.list.items.length) this.openGraph(this.list.items[0]);
      else if (event.key === "ArrowDown" && this.list.items.length) {
        get("list").focus();
        this.select(this.list.items[0]);
      } else return;
      event.preventDefault();
    });
    get("order").addEventListener("change", () => this.list.filter(search.value, get("order").value));
    get("before").addEventListener("click", () => this.goTo("before"));
    get("after").addEventListener("click", () => this.goTo("after"));
    get("theme").addEventListener("click", () => this._theme());
    get("help").addEventListener("click", () => get("keys").showModal());
    get("fit").addEventListener("click", () => this.graph.fit(this.selected));
    get("in").addEventListener("click", () => this.graph.zoom(1.25));
    get("out").addEventListener("click", () => this.graph.zoom(0.8));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this._recolour());
    let width = innerWidth;
    addEventListener("resize", () => {
      this.list.draw();
      if (innerWidth !== width) this.graph.fit(this.selected);
      width = innerWidth;
    });
    document.addEventListener("keydown", (event) => this._key(event));
    addEventListener("beforeprint", () => this.graph.print(true));
    addEventListener("afterprint", () => this.graph.print(false));
  }

  _theme() {
    const { dataset } = document.documentElement;
    const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    dataset.theme = isDark ? "light" : "dark";
    this._recolour();
  }

  _recolour() {
    colourCache = null;
    this.panel.reads?.update(false);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.get("keys").open) return;
    const target = /** @type {any} */ (event.target);
    const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    if (event.key === "Escape") {
      if (target.id === "search") {
        target.value = "";
        target.dispatchEvent(new Event("input"));
        this.get("graph").focus();
      } else if (isField) target.blur();
      else this._escape();
      return;
    }
    if (isField) return;
    const isButton = target.tagName === "BUTTON" || target.tagName === "SUMMARY";
    const isGraph = target === document.body || target.closest("#graph");
    const key = event.key;
    if (key === "/") this.get("search").select();
    else if (key === "?") this.get("keys").showModal();
    else if (key === "t") this._theme();
    else if (key === "b") this.goTo("before");
    else if (key === "a") this.goTo("after");
    else if (key === "g") this.get("graph").focus();
    else if (key === "l") this.get("list").focus();
    else if (key === "p") this.get("panel").querySelector("h2")?.focus();
    else if (key === "e") document.getElementById("output-picture")?.focus();
    else if (key === "c") {
      this.draw(this.selected);
      this.graph.center(this.selected);
    } else if (key === "0") this.graph.fit(this.selected);
    else if (key === "+" || key === "=") this.graph.zoom(1.25);
    else if (key === "-") this.graph.zoom(0.8);
    else if (isGraph && key === "Enter" && !isButton) {
      const calls = this.model().callsOf(this.selected);
      if (!calls.length) this.get("panel").querySelector("h2")?.focus();
      else if (event.shiftKey) this.enter(calls[0]);
      else this.toggle(this.selected);
    } else if (isGraph && key.startsWith("Arrow")) this._follow(key);
    else return;
    event.preventDefault();
  }

  /** Closes the innermost open thing: an open instruction, one around the selected one, or the computation. */
  _escape() {
    const model = this.model();
    let i = this.selected;
    for (let k = 0; k < 12; k++) {
      if (this.expanded.has(i)) return this.toggle(i);
      const c = model.computationOf(i);
      const { callers } = model.computations[c];
      const around = callers.find((caller) => this.expanded.has(caller) && this.graph.places.has(caller));
      if (c === this.computation || around === undefined) break;
      i = around;
    }
    this.leave();
  }

  /** Follows operands up and users down; left and right go through the operands or users of where it came from.
   * @param {string} key */
  _follow(key) {
    const model = this.model();
    const i = this.selected;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const isUp = key === "ArrowUp";
      const list = isUp ? [...new Set(model.operandsOf(i))] : model.usersOf(i);
      const { callers } = model.computations[model.computationOf(i)];
      const around = callers.find((caller) => this.graph.places.has(caller)) ?? callers[0];
      if (list.length) {
        this.select(list[0]);
        this.siblings = list.length > 1 ? { list, k: 0 } : null;
      } else if (around !== undefined) this.select(around);
      return;
    }
    if (!this.siblings) {
      const user = model.usersOf(i)[0];
      const list = user === undefined ? [i] : [...new Set(model.operandsOf(user))];
      this.siblings = { list, k: list.indexOf(i) };
    }
    const { list, k } = this.siblings;
    this.siblings.k = (k + (key === "ArrowRight" ? 1 : list.length - 1)) % list.length;
    this.select(list[this.siblings.k], true);
  }
}

const explorer = new Explorer();
