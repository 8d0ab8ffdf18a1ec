// What every widget uses: elements, numbers in words, unpacking, theme and tooltip.

const SVG_TAGS = new Set(["svg", "path", "rect", "line", "circle", "text", "polygon"]);

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
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e6 || size < 1e-3
      ? value.toExponential(2).replace("e+", "e")
      : String(Number(value.toPrecision(4)));
  return text.replace(/^-/, "−");
}

// -- packed arrays: see pack.py ---------------------------------------------------------

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const [n, p] = packed.shape, { low, unit } = packed;
  const column = unit?.length === 1 ? () => 0 : (k) => k % p;
  const values = {
    exact: () => new Float32Array(buffer),
    mask: () => new Uint8Array(buffer),
    levels: () => Float32Array.from(new Uint8Array(buffer), (code, k) => low[column(k)] + unit[column(k)] * code),
    signed: () => Float32Array.from(new Int8Array(buffer), (code, k) => unit[column(k)] * (code / 127) ** 3),
  }[packed.kind]();
  return { n, p, values };
}

const rowOf = (matrix, i) => matrix.values.subarray(i * matrix.p, (i + 1) * matrix.p);

// -- theme ------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";

// A color of the style sheet, as rgb(...): the style of an element resolves light-dark().
const known = new Map();
document.addEventListener("theme", () => known.clear());
function css(name) {
  if (!known.has(name)) {
    const probe = document.getElementById("tooltip");
    probe.style.outlineColor = `var(${name})`;
    known.set(name, getComputedStyle(probe).outlineColor);
  }
  return known.get(name);
}

function setUpTheme() {
  const switcher = document.getElementById("theme"), key = "rpcag-theme";
  const tell = () => {
    switcher.textContent = isDark() ? "Light" : "Dark";
    switcher.setAttribute("aria-label", `${switcher.textContent} colors`);
    document.dispatchEvent(new Event("theme"));
  };
  try {
    const remembered = localStorage.getItem(key);
    if (remembered) document.documentElement.dataset.theme = remembered;
  } catch { /* a private window */ }
  switcher.hidden = false;
  switcher.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem(key, theme); } catch { /* a private window */ }
    tell();
  });
  dark.addEventListener("change", tell);
  tell();
}

// Draw now, when the width of the node changes, and when the colors do.
function keepDrawn(node, draw) {
  let width = -1;
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (node.clientWidth > 0) draw();
    });
  };
  new ResizeObserver(() => {
    if (node.clientWidth !== width) {
      width = node.clientWidth;
      later();
    }
  }).observe(node);
  document.addEventListener("theme", later);
  return later;
}

// A canvas of so many pixels, sharp on every screen; returns its context.
function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  return context;
}

// Where an event is in a node, in pixels from its corner.
function placeIn(node, event) {
  const box = node.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

// Keys that do something while a node has the focus.
function onKeys(node, actions) {
  node.addEventListener("keydown", (event) => {
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
}

// The index of what is selected; watchers are called when another one is.
function selectable(index) {
  const watchers = [];
  return {
    index,
    watch(watcher) { watchers.push(watcher); },
    set(other) {
      if (other === this.index) return;
      this.index = other;
      watchers.forEach((watcher) => watcher(other));
    },
  };
}

// -- tooltip ----------------------------------------------------------------------------

const tooltip = {
  show(x, y, ...content) {
    const box = document.getElementById("tooltip");
    box.replaceChildren(...content.filter((part) => part != null));
    box.classList.add("shown");
    const { width, height } = box.getBoundingClientRect();
    const left = x + 16 + width < innerWidth ? x + 16 : x - 16 - width;
    const top = y + 16 + height < innerHeight ? y + 16 : y - 16 - height;
    box.style.transform = `translate(${clamp(left, 4, Math.max(4, innerWidth - width - 4))}px, ${Math.max(4, top)}px)`;
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

// -- tables -----------------------------------------------------------------------------

function tableOf(header, rows, caption = null) {
  const head = header.map((name) => make("th", { scope: "col" }, name));
  const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name),
    ...cells.map((cell) => make("td", {}, typeof cell === "string" ? cell : number(cell)))));
  return make("div", { class: "scroll" }, make("table", {},
    caption && make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
}

// The numbers behind a picture, for those who cannot see it or want to copy them.
function numbersOf(header, rows) {
  const details = make("details", {}, make("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => details.append(tableOf(header, rows)), { once: true });
  return details;
}

const widgets = {};
