// What every widget uses: elements, numbers, packed arrays, tooltips, and axes in SVG.

const widgets = {}; // functions of an element and its data, by kind

const SVG_TAGS = new Set(["svg", "g", "path", "rect", "line", "circle", "text"]);

function make(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const button = (name, text, onclick) =>
  make("button", { type: "button", "aria-label": name, title: name, onclick }, text);

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Four digits, as few signs as they need.
function number(value) {
  if (value == null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = value && (size >= 1e6 || size < 1e-3)
    ? value.toExponential(2).replace("e+", "e")
    : String(Number(value.toPrecision(4)));
  return text.replace(/^-/, "−");
}

const fixed = (value, digits) => value.toFixed(digits).replace(/^-/, "−");

// See pack.py.
async function unpack({ kind, shape: [n, p], data, low, unit }) {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const values = {
    exact: () => new Float32Array(buffer),
    mask: () => new Uint8Array(buffer),
    levels: () => Float32Array.from(new Uint8Array(buffer), (code) => low + unit * code),
    signed: () => Float32Array.from(new Int8Array(buffer), (code) => unit * (code / 127) ** 3),
  }[kind]();
  return { n, p, values, row: (i) => values.subarray(i * p, (i + 1) * p) };
}

// Draw now, and again when the width of the node changes.
function keepDrawn(node, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    if (width) requestAnimationFrame(draw);
  }).observe(node);
}

// Where an event is in a node, in pixels from its corner.
function placeIn(node, event) {
  const box = node.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

// Keys that do something while a node, or one in it that is free, has the focus.
function onKeys(node, actions, isFree = () => true) {
  node.addEventListener("keydown", (event) => {
    const act = isFree(event.target) && actions[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
}

// -- tooltip and tables -----------------------------------------------------------------

const tooltip = {
  show(x, y, ...content) {
    const box = document.getElementById("tooltip");
    box.replaceChildren(...content.filter((part) => part != null));
    box.classList.add("shown");
    const { width, height } = box.getBoundingClientRect();
    const beside = (at, size, room) => (at + 16 + size < room ? at + 16 : Math.max(4, at - 16 - size));
    box.style.transform = `translate(${beside(x, width, innerWidth)}px, ${beside(y, height, innerHeight)}px)`;
  },
  hide() {
    document.getElementById("tooltip").classList.remove("shown");
  },
};
addEventListener("scroll", tooltip.hide, { passive: true });
addEventListener("keydown", (event) => event.key === "Escape" && tooltip.hide());

const heading = (text) => make("div", { class: "name" }, text);

const pairs = (entries) =>
  make("dl", {}, ...entries.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));

function tableOf(caption, header, rows) {
  const head = header.map((name) => make("th", { scope: "col" }, name));
  const body = rows.map(([name, ...cells]) =>
    make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", {}, cell))));
  return make("div", { class: "scroll" }, make("table", {}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
}

// -- axes -------------------------------------------------------------------------------

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const room = low === high ? (Math.abs(low) || 1) / 2 : 0.04 * (high - low);
  return [low - room, high + room];
}

// The range of the inner values, and of outer ones as far as they do not squeeze the inner.
function reach(inner, outer) {
  const [low, high] = rangeOf(inner), span = high - low;
  return rangeOf([low, high, ...outer.map((value) => clamp(value, low - span, high + span))]);
}

// About so many round numbers between two.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough * 0.99);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

const scaleOf = ([low, high], from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

// Lines across at round numbers, with their names at the left.
function drawTicks(svg, [low, high], y, left, right) {
  const found = ticks(low, high, 5), digits = Math.max(0, -Math.floor(Math.log10(found[1] - found[0]) + 1e-9));
  const isPlain = digits <= 6 && Math.max(Math.abs(low), Math.abs(high)) < 1e6;
  for (const value of found)
    svg.append(
      make("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }),
      make("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, isPlain ? fixed(value + 0, digits) : number(value)));
}

// An entry of a legend: paths by their classes, and what they mean.
const legend = (told, ...paths) => make("li", {}, make("svg", { width: 22, height: 16, "aria-hidden": "true" },
  ...paths.map(([cls, d]) => make("path", { class: cls, d }))), told);

// Points as segments without length: the caps of the line draw them.
const dots = (points) => points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");

const stems = (stems) => stems.map(([x, from, to]) => `M${x.toFixed(1)} ${from.toFixed(1)}V${to.toFixed(1)}`).join("");

// A line through points, which is interrupted where one is not finite.
function lineThrough(points) {
  let path = "", pen = "M";
  for (const [x, y] of points) {
    if (Number.isFinite(y)) path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = Number.isFinite(y) ? "L" : "M";
  }
  return path;
}
