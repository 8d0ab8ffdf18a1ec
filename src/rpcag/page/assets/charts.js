// Axes, and charts as SVG that follows the width it has.

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

function aroundZero(values) {
  let top = 0;
  for (const value of values) top = Math.max(top, Math.abs(value));
  return [-1.05 * (top || 1), 1.05 * (top || 1)];
}

// About so many round numbers between two.
function ticks(low, high, about = 5) {
  const rough = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough * 0.99);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// Powers of ten, and where there are few of them 2 and 5 times these.
function logTicks(low, high, most = 6) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const every = Math.ceil((last - first) / most);
  const found = [];
  for (let k = first; k <= last; k += every)
    for (const m of last - first <= 2 ? [1, 2, 5] : [1])
      if (m * 10 ** k >= low * 0.999 && m * 10 ** k <= high * 1.001) found.push(m * 10 ** k);
  return found;
}

function scaleOf([low, high], from, to, f = (value) => value) {
  const a = f(low), b = f(high);
  return (value) => from + ((f(value) - a) / (b - a || 1)) * (to - from);
}

// Lines across at round numbers, with their names at the left.
function drawTicks(svg, values, y, left, right) {
  for (const value of values)
    svg.append(
      make("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }),
      make("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, number(value)));
}

// A line down at the place that is nearest to the pointer, and a tooltip that tells of it.
function followPointer(svg, top, below, places, tell) {
  const guide = make("line", { class: "guide", y1: top, y2: below, visibility: "hidden" });
  svg.append(guide);
  svg.addEventListener("pointermove", (event) => {
    const [px] = placeIn(svg, event);
    let k = 0;
    places.forEach((place, j) => {
      if (Math.abs(place - px) < Math.abs(places[k] - px)) k = j;
    });
    for (const [name, value] of [["x1", places[k]], ["x2", places[k]], ["visibility", "visible"]])
      guide.setAttribute(name, value);
    tooltip.show(event.clientX, event.clientY, ...tell(k));
  });
  svg.addEventListener("pointerleave", () => {
    guide.setAttribute("visibility", "hidden");
    tooltip.hide();
  });
}

// -- charts: data has x_name, y_name, y_scale and describes -----------------------------

const FRAME = { left: 58, right: 12, top: 10, below: 206, height: 250 };

// `paint` adds marks to the SVG; `xTicks` gives [place, name], and `tell` a tooltip.
function chart(root, data, legend, numbers, xs, ys, { xTicks, paint, places, tell }) {
  const holder = make("div"), { left, top, below, height } = FRAME;
  root.append(make("figcaption", {}, data.y_name), holder, legend ?? "", numbers);
  keepDrawn(root, () => {
    const width = holder.clientWidth, right = width - FRAME.right, log = data.y_scale === "log";
    const x = scaleOf(xs, left, right), y = scaleOf(ys, below, top, log ? Math.log10 : undefined);
    const svg = make("svg", { width, height, role: "img", "aria-label": data.describes });
    drawTicks(svg, log ? logTicks(...ys) : ticks(...ys), y, left, right);
    const marks = xTicks?.(width) ?? ticks(...xs, width / 75).map((tick) => [tick, number(tick)]);
    for (const [at, name] of marks)
      svg.append(make("text", { x: x(at), y: below + 18, "text-anchor": "middle" }, name));
    svg.append(make("text", { x: (left + width) / 2, y: height - 5, "text-anchor": "middle" }, data.x_name));
    paint(svg, x, y);
    followPointer(svg, top, below, places.map(x), tell);
    holder.replaceChildren(svg);
  });
}

// data: edges (one more than values), values, and maybe names of the bars.
widgets.bars = (root, data) => {
  const { edges, values } = data;
  const nameOf = (k) => data.names?.[k] ?? `${number(edges[k])} to ${number(edges[k + 1])}`;
  const middles = values.map((_, k) => (edges[k] + edges[k + 1]) / 2);
  const numbers = numbersOf([data.x_name, data.y_name], values.map((value, k) => [nameOf(k), value]));
  chart(root, data, null, numbers, [edges[0], edges.at(-1)], [0, 1.04 * (Math.max(...values) || 1)], {
    xTicks(width) {
      const every = Math.ceil((values.length * 34) / (width - FRAME.left));
      return data.names?.map((name, k) => [middles[k], name]).filter((_, k) => k % every === 0);
    },
    paint(svg, x, y) {
      values.forEach((value, k) => {
        const from = x(edges[k]), wide = x(edges[k + 1]) - from, gap = wide > 6 ? 1 : 0;
        svg.append(make("rect", {
          x: from + gap / 2, width: Math.max(wide - gap, 0.8), y: y(value),
          height: Math.max(y(0) - y(value), value > 0 ? 1 : 0), fill: "var(--accent)",
        }));
      });
    },
    places: middles,
    tell: (k) => [pairs([[data.x_name, nameOf(k)], [data.y_name, number(values[k])]])],
  });
};

// data: series of {name, x, y, dashed}.
widgets.lines = (root, data) => {
  const colorOf = (k) => ["var(--accent)", "var(--second)"][k];
  const strokeOf = (series, k) =>
    ({ stroke: colorOf(k), "stroke-width": 1.8, "stroke-dasharray": series.dashed ? "4 3" : false });
  const markOf = (k, cx, cy) => make("circle", { cx, cy, r: 2.5, fill: colorOf(k) });
  const log = data.y_scale === "log";
  const places = [...new Set(data.series.flatMap((series) => series.x))].sort((a, b) => a - b);
  const at = (series, x) => series.y[series.x.indexOf(x)];
  const shown = data.series.flatMap((series) => series.y).filter((y) => !log || y > 0);
  const ys = log ? [Math.min(...shown) / 1.3, Math.max(...shown) * 1.3] : rangeOf(shown);
  const xs = places.length > 1 ? [places[0], places.at(-1)] : [places[0] * 0.8, places[0] * 1.25 || 1];
  const legend = make("ul", { class: "series" }, ...data.series.map((series, k) =>
    make("li", {}, make("svg", { width: 26, height: 12, "aria-hidden": "true" },
      make("line", { x1: 0, x2: 26, y1: 6, y2: 6, ...strokeOf(series, k) }), markOf(k, 13, 6)), series.name)));
  const numbers = numbersOf([data.x_name, ...data.series.map((series) => series.name)],
    places.map((x) => [number(x), ...data.series.map((series) => at(series, x))]));
  chart(root, data, data.series.length > 1 ? legend : null, numbers, xs, ys, {
    paint(svg, x, y) {
      data.series.forEach((series, k) => {
        const points = series.x.map((place, i) => [place, series.y[i]])
          .filter(([, value]) => !log || value > 0).map(([place, value]) => [x(place), y(value)]);
        const path = points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
        svg.append(make("path", { d: path && `M${path}`, fill: "none", "stroke-linejoin": "round", ...strokeOf(series, k) }));
        if (points.length <= 60) svg.append(...points.map(([px, py]) => markOf(k, px, py)));
      });
    },
    places,
    tell: (k) => [heading(`${data.x_name} ${number(places[k])}`),
      pairs(data.series.filter((series) => at(series, places[k]) != null)
        .map((series) => [series.name, number(at(series, places[k]))]))],
  });
};
