// What every widget uses: elements, numbers in words, unpacking, theme and tooltip.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "line", "circle", "text", "polygon"]);

function make(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag)
    ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

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
  const [n, p] = packed.shape;
  if (packed.kind === "exact") return { n, p, values: new Float32Array(buffer) };
  if (packed.kind === "bits") {
    const codes = new Uint8Array(buffer);
    const values = new Uint8Array(n * p);
    for (let k = 0; k < values.length; k++) values[k] = (codes[k >> 3] >> (7 - (k & 7))) & 1;
    return { n, p, values };
  }
  const values = new Float32Array(n * p);
  const column = packed.unit.length === 1 ? () => 0 : (k) => k % p;
  if (packed.kind === "levels") {
    const codes = new Uint8Array(buffer);
    for (let k = 0; k < codes.length; k++)
      values[k] = packed.low[column(k)] + packed.unit[column(k)] * codes[k];
  } else {
    const codes = new Int8Array(buffer);
    for (let k = 0; k < codes.length; k++)
      values[k] = packed.unit[column(k)] * (codes[k] / 127) ** 3;
  }
  return { n, p, values };
}

const rowOf = (matrix, i) => matrix.values.subarray(i * matrix.p, (i + 1) * matrix.p);

// -- theme ------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
};
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function setUpTheme() {
  const button = document.getElementById("theme");
  const memory = {
    get() { try { return localStorage.getItem("rpcag-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("rpcag-theme", value); } catch { /* a private window */ } },
  };
  const tell = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Light colors" : "Dark colors");
    document.dispatchEvent(new Event("theme"));
  };
  const remembered = memory.get();
  if (remembered === "light" || remembered === "dark")
    document.documentElement.dataset.theme = remembered;
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    memory.set(document.documentElement.dataset.theme);
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

function pairs(entries) {
  const list = make("dl");
  for (const [name, value] of entries) list.append(make("dt", {}, name), make("dd", {}, value));
  return list;
}

// The numbers behind a picture, for those who cannot see it or want to copy them.
function numbersOf(header, rows) {
  const details = make("details", {}, make("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    const body = rows.map((row) =>
      make("tr", {}, ...row.map((cell, j) =>
        make(j ? "td" : "th", j ? {} : { scope: "row" }, typeof cell === "string" ? cell : number(cell)))));
    const head = make("tr", {}, ...header.map((name) => make("th", { scope: "col" }, name)));
    details.append(make("div", { class: "scroll" },
      make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))));
  }, { once: false });
  return details;
}

const widgets = {};
