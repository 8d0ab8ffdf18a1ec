// Bars and lines, as SVG that follows the width it has.

const FRAME = { left: 58, right: 12, top: 10, plot: 196, bottom: 44 };

// xTicks gives [place, name].
function frameOf(root, data, xs, ys, xTicks) {
  const width = root.clientWidth;
  const x = scaleOf("linear", xs, FRAME.left, width - FRAME.right);
  const below = FRAME.top + FRAME.plot;
  const y = scaleOf(data.y_scale, ys, below, FRAME.top);
  const height = below + FRAME.bottom;
  const svg = make("svg", { width, height, role: "img", "aria-label": data.describes });
  for (const tick of data.y_scale === "log" ? logTicks(...ys) : ticks(...ys))
    svg.append(
      make("line", { class: "axis", x1: FRAME.left, x2: width - FRAME.right, y1: y(tick), y2: y(tick) }),
      make("text", { x: FRAME.left - 7, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
  for (const [at, name] of xTicks(width, x))
    svg.append(make("text", { x: at, y: below + 18, "text-anchor": "middle" }, name));
  svg.append(make("text", { x: (FRAME.left + width) / 2, y: height - 5, "text-anchor": "middle" }, data.x_name));
  const guide = make("line", { class: "guide", y1: FRAME.top, y2: below, visibility: "hidden" });
  return { svg, x, y, width, guide };
}

function followPointer(frame, nearest, places, tell) {
  const { svg, guide } = frame;
  svg.append(guide);
  svg.addEventListener("pointermove", (event) => {
    const k = nearest(event.clientX - svg.getBoundingClientRect().left);
    guide.setAttribute("x1", places(k));
    guide.setAttribute("x2", places(k));
    guide.setAttribute("visibility", "visible");
    tooltip.show(event.clientX, event.clientY, ...tell(k));
  });
  svg.addEventListener("pointerleave", () => {
    guide.setAttribute("visibility", "hidden");
    tooltip.hide();
  });
}

function closest(places, x) {
  let best = 0;
  places.forEach((place, k) => {
    if (Math.abs(place - x) < Math.abs(places[best] - x)) best = k;
  });
  return best;
}

// data: edges (one more than values), values; x_name, y_name, describes.
widgets.bars = (root, data) => {
  const holder = make("div");
  root.append(make("figcaption", {}, data.y_name), holder,
    numbersOf([data.x_name, data.y_name], data.values.map((value, k) => [binName(k), value])));
  function binName(k) {
    return data.names ? data.names[k] : `${number(data.edges[k])} to ${number(data.edges[k + 1])}`;
  }
  keepDrawn(root, () => {
    const xs = [data.edges[0], data.edges.at(-1)];
    const tall = Math.max(...data.values) || 1;
    const frame = frameOf(holder, data, xs, [0, tall * 1.04], (width, x) => {
      if (!data.names) return ticks(...xs, width / 75).map((tick) => [x(tick), number(tick)]);
      const every = Math.ceil((data.names.length * 34) / (width - FRAME.left));
      return data.names.flatMap((name, k) =>
        k % every ? [] : [[x((data.edges[k] + data.edges[k + 1]) / 2), name]]);
    });
    data.values.forEach((value, k) => {
      const from = frame.x(data.edges[k]), to = frame.x(data.edges[k + 1]);
      const gap = to - from > 6 ? 1 : 0;
      frame.svg.append(make("rect", {
        x: from + gap / 2, width: Math.max(to - from - gap, 0.8), y: frame.y(value),
        height: Math.max(frame.y(0) - frame.y(value), value > 0 ? 1 : 0), fill: "var(--accent)",
      }));
    });
    const middle = data.values.map((_, k) => frame.x((data.edges[k] + data.edges[k + 1]) / 2));
    followPointer(frame, (at) => closest(middle, at), (k) => middle[k], (k) => [
      pairs([[data.x_name, binName(k)], [data.y_name, number(data.values[k])]])]);
    holder.replaceChildren(frame.svg);
  });
};

// data: series of {name, x, y, dashed}; x_name, y_name, y_scale, describes.
widgets.lines = (root, data) => {
  const strokeOf = (series, k) => ({
    stroke: ["var(--accent)", "var(--second)"][k], "stroke-width": 1.8,
    "stroke-dasharray": series.dashed ? "4 3" : false,
  });
  const markOf = (k, cx, cy) => make("circle", { cx, cy, r: 2.5, fill: strokeOf({}, k).stroke });
  const shown = (y) => y != null && (data.y_scale !== "log" || y > 0);
  const places = [...new Set(data.series.flatMap((series) => series.x))].sort((a, b) => a - b);
  const at = (series, x) => series.y[series.x.indexOf(x)];
  const holder = make("div");
  const legend = make("ul", { class: "series" }, ...data.series.map((series, k) =>
    make("li", {}, make("svg", { width: 26, height: 12, "aria-hidden": "true" },
      make("line", { x1: 0, x2: 26, y1: 6, y2: 6, ...strokeOf(series, k) }),
      markOf(k, 13, 6)), series.name)));
  root.append(make("figcaption", {}, data.y_name), holder, data.series.length > 1 ? legend : "",
    numbersOf([data.x_name, ...data.series.map((series) => series.name)],
      places.map((x) => [number(x), ...data.series.map((series) => at(series, x) ?? null)])));

  keepDrawn(root, () => {
    const every = data.series.flatMap((series) => series.y).filter(shown);
    const ys = data.y_scale === "log"
      ? [Math.min(...every) / 1.3, Math.max(...every) * 1.3] : rangeOf(every);
    const xs = places.length > 1
      ? [places[0], places.at(-1)] : [places[0] * 0.8, places[0] * 1.25 || 1];
    const frame = frameOf(holder, data, xs, ys, (width, x) =>
      ticks(...xs, width / 75).map((tick) => [x(tick), number(tick)]));
    data.series.forEach((series, k) => {
      const points = series.x.flatMap((x, i) => (shown(series.y[i]) ? [[frame.x(x), frame.y(series.y[i])]] : []));
      const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
      frame.svg.append(make("path", {
        d: path && `M${path}`, fill: "none", "stroke-linejoin": "round", ...strokeOf(series, k),
      }));
      if (points.length <= 60)
        frame.svg.append(...points.map(([x, y]) => markOf(k, x, y)));
    });
    const where = places.map(frame.x);
    followPointer(frame, (px) => closest(where, px), (k) => where[k], (k) => [
      make("div", { class: "name" }, `${data.x_name} ${number(places[k])}`),
      pairs(data.series.filter((series) => at(series, places[k]) != null)
        .map((series) => [series.name, number(at(series, places[k]))]))]);
    holder.replaceChildren(frame.svg);
  });
};
