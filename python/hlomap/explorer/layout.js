// Lays out an acyclic graph in layers: longest paths, barycentre sweeps, least-squares coordinates.
//
// Read layoutGraph.  The method is that of Sugiyama, Tagawa and Toda (1981); every pass takes time linear in nodes and
// edges, but for sorting.  Callers limit what they lay out: see graph.js.
"use strict";

const LAYER_GAP = 42;
const NODE_GAP = 22;
const MOST_BENDS = 3000;
const SWEEPS = 8;

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{centers: Point[], routes: Point[][], width: number, height: number}} GraphLayout
 */

/**
 * The centres of nodes and the ways of edges from top to bottom.
 * @param {{w: number, h: number}[]} sizes
 * @param {[number, number][]} edges from operand to user, without cycles
 * @returns {GraphLayout}
 */
function layoutGraph(sizes, edges) {
  const ranks = ranksOf(sizes.length, edges);
  const graph = withBends(sizes, edges, ranks);
  const layers = orderLayers(graph);
  const x = placeNodes(graph, layers);
  const tops = [];
  let bottom = 0;
  for (const layer of layers) {
    const h = layer.reduce((most, v) => Math.max(most, graph.sizes[v].h), 0);
    tops.push({ middle: bottom + h / 2, h });
    bottom += h + LAYER_GAP;
  }
  const left = Math.min(0, ...sizes.map(({ w }, v) => x[v] - w / 2));
  const right = Math.max(0, ...sizes.map(({ w }, v) => x[v] + w / 2));
  const at = (/** @type {number} */ v) => ({ x: x[v] - left, y: tops[graph.ranks[v]].middle });
  // An edge crosses a layer straight down, beside the boxes in it, and turns between layers.
  const across = (/** @type {number} */ v) => {
    const { x: center, y } = at(v);
    const { h } = tops[graph.ranks[v]];
    return [{ x: center, y: y - h / 2 }, { x: center, y: y + h / 2 }];
  };
  const routes = edges.map(([from, to], e) => {
    const [a, b] = [at(from), at(to)];
    const start = [{ x: a.x, y: a.y + sizes[from].h / 2 }, across(from)[1]];
    return [...start, ...graph.bends[e].flatMap(across), across(to)[0], { x: b.x, y: b.y - sizes[to].h / 2 }];
  });
  return {
    centers: sizes.map((_, v) => at(v)), routes, width: right - left, height: Math.max(0, bottom - LAYER_GAP),
  };
}

/** The layer of every node: below all its operands, and not too many in one; values without operands are near users.
 * @param {number} n @param {[number, number][]} edges */
function ranksOf(n, edges) {
  const { before, after } = neighbours(n, edges);
  const most = Math.max(5, Math.ceil(0.8 * Math.sqrt(n)));
  const ranks = new Array(n).fill(0);
  const open = before.map((list) => list.length);
  const queue = open.flatMap((count, v) => (count ? [] : [v]));
  /** @type {number[]} */
  const filled = [];
  for (let k = 0; k < queue.length; k++) {
    const v = queue[k];
    const isSource = !before[v].length && after[v].length > 0; // placed afterwards
    while (!isSource && (filled[ranks[v]] ?? 0) >= most) ranks[v]++;
    if (!isSource) filled[ranks[v]] = (filled[ranks[v]] ?? 0) + 1;
    for (const user of after[v]) {
      ranks[user] = Math.max(ranks[user], ranks[v] + 1);
      if (--open[user] === 0) queue.push(user);
    }
  }
  for (const v of queue) {
    if (before[v].length || !after[v].length) continue;
    const highest = Math.min(...after[v].map((user) => ranks[user])) - 1;
    let rank = highest;
    while (rank > highest - 12 && (filled[rank] ?? 0) >= most + 1) rank--;
    filled[rank] = (filled[rank] ?? 0) + 1;
    ranks[v] = rank;
  }
  const used = [...new Set(ranks)].sort((x, y) => x - y);
  const dense = new Map(used.map((rank, k) => [rank, k]));
  return ranks.map((rank) => dense.get(rank) ?? 0);
}

/** @param {number} n @param {[number, number][]} edges */
function neighbours(n, edges) {
  /** @type {number[][]} */
  const before = Array.from({ length: n }, () => []);
  /** @type {number[][]} */
  const after = Array.from({ length: n }, () => []);
  for (const [from, to] of edges) {
    before[to].push(from);
    after[from].push(to);
  }
  return { before, after };
}

/** The graph with a bend in each layer that an edge crosses.
 * @param {{w: number, h: number}[]} sizes @param {[number, number][]} edges @param {number[]} ranks */
function withBends(sizes, edges, ranks) {
  const all = sizes.slice();
  const allRanks = ranks.slice();
  /** @type {[number, number][]} */
  const pieces = [];
  let left = MOST_BENDS;
  const bends = edges.map(([from, to]) => {
    /** @type {number[]} */
    const found = [];
    let last = from;
    if (ranks[to] - ranks[from] - 1 <= left) {
      for (let rank = ranks[from] + 1; rank < ranks[to]; rank++) {
        all.push({ w: 6, h: 0 });
        allRanks.push(rank);
        pieces.push([last, all.length - 1]);
        last = all.length - 1;
        found.push(last);
        left--;
      }
      pieces.push([last, to]);
    }
    return found;
  });
  return { sizes: all, ranks: allRanks, pieces, bends, n: sizes.length, ...neighbours(all.length, pieces) };
}

/** @typedef {ReturnType<typeof withBends>} LayeredGraph */

/** The layers in an order with few crossings. @param {LayeredGraph} graph @returns {number[][]} */
function orderLayers(graph) {
  /** @type {number[][]} */
  const layers = Array.from({ length: Math.max(0, ...graph.ranks) + 1 }, () => []);
  // Depth first from the results, so that what belongs together starts together.
  const seen = new Set();
  const visit = (/** @type {number} */ start) => {
    const stack = [start];
    while (stack.length) {
      const v = stack.pop() ?? 0;
      if (seen.has(v)) continue;
      seen.add(v);
      layers[graph.ranks[v]].push(v);
      for (const operand of graph.before[v].slice().reverse()) stack.push(operand);
    }
  };
  for (let v = graph.n - 1; v >= 0; v--) if (!graph.after[v].length) visit(v);
  graph.ranks.forEach((_, v) => visit(v));

  const position = new Array(graph.ranks.length).fill(0);
  const number = (/** @type {number[]} */ layer) => layer.forEach((v, i) => (position[v] = i));
  layers.forEach(number);
  let best = layers.map((layer) => layer.slice());
  let fewest = crossings(graph, layers, position);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const isDown = sweep % 2 === 0;
    const side = isDown ? graph.before : graph.after;
    for (const layer of isDown ? layers : layers.slice().reverse()) {
      const center = new Map(
        layer.map((v) => [v, side[v].length ? mean(side[v].map((u) => position[u])) : position[v]]),
      );
      layer.sort((a, b) => (center.get(a) ?? 0) - (center.get(b) ?? 0) || position[a] - position[b]);
      number(layer);
    }
    const found = crossings(graph, layers, position);
    if (found < fewest) [fewest, best] = [found, layers.map((layer) => layer.slice())];
  }
  return best;
}

/** The number of crossings, counted with a Fenwick tree.
 * @param {LayeredGraph} graph @param {number[][]} layers @param {number[]} position */
function crossings(graph, layers, position) {
  let total = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((v) => graph.after[v].map((u) => position[u]).sort((a, b) => a - b));
    const tree = new Array(Math.max(0, ...ends) + 2).fill(0);
    ends.forEach((end, k) => {
      total += k;
      for (let i = end + 1; i > 0; i -= i & -i) total -= tree[i];
      for (let i = end + 1; i < tree.length; i += i & -i) tree[i]++;
    });
  }
  return total;
}

/** The horizontal centres: near the mean of the neighbours, in order and apart.
 * @param {LayeredGraph} graph @param {number[][]} layers */
function placeNodes(graph, layers) {
  /** @type {number[]} */
  const x = new Array(graph.ranks.length).fill(0);
  for (const layer of layers) {
    let at = 0;
    for (const v of layer) {
      x[v] = at + graph.sizes[v].w / 2;
      at += graph.sizes[v].w + gapAfter(graph, v);
    }
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.slice().reverse()) {
      const wanted = layer.map((v) => {
        const side = isDown ? graph.before[v] : graph.after[v];
        const near = side.length ? side : isDown ? graph.after[v] : graph.before[v];
        return near.length ? mean(near.map((u) => x[u])) : x[v];
      });
      spread(graph, layer, wanted).forEach((value, i) => (x[layer[i]] = value));
    }
  }
  return x;
}

/** @param {LayeredGraph} graph @param {number} v */
const gapAfter = (graph, v) => (v < graph.n ? NODE_GAP : 10);

/** The least-squares projection onto positions in order and apart: pools of adjacent violators.
 * @param {LayeredGraph} graph @param {number[]} layer @param {number[]} wanted */
function spread(graph, layer, wanted) {
  const offsets = [0];
  for (let i = 1; i < layer.length; i++) {
    const [a, b] = [graph.sizes[layer[i - 1]], graph.sizes[layer[i]]];
    offsets.push(offsets[i - 1] + a.w / 2 + b.w / 2 + gapAfter(graph, layer[i - 1]));
  }
  /** @type {{sum: number, weight: number, n: number}[]} */
  const pools = [];
  wanted.forEach((value, i) => {
    const weight = layer[i] < graph.n ? 1 : 2; // bends make straight lines
    pools.push({ sum: (value - offsets[i]) * weight, weight, n: 1 });
    for (;;) {
      const [a, b] = pools.slice(-2);
      if (pools.length < 2 || a.sum / a.weight <= b.sum / b.weight) break;
      pools.splice(-2, 2, { sum: a.sum + b.sum, weight: a.weight + b.weight, n: a.n + b.n });
    }
  });
  const values = pools.flatMap(({ sum, weight, n }) => new Array(n).fill(sum / weight));
  return values.map((value, i) => value + offsets[i]);
}

/** @param {number[]} values */
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
