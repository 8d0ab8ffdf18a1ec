// Samples one by one, as images or as lines over the features, with a slider.

// The selected sample. `describe` makes its tooltip; watchers hear of another one.
const sample = {
  index: 0,
  watchers: [],
  set(i) {
    this.index = i;
    this.watchers.forEach((watcher) => watcher());
  },
};

widgets.viewer = async (root, data) => {
  const [L, S, missing] = await Promise.all([data.low_rank, data.sparse, data.missing].map((one) => one && unpack(one)));
  const n = data.names.length;
  // The original where it is known; the low-rank part; the sparse part.
  const partsOf = (i) => {
    const low = L.row(i), sparse = S.row(i), gone = missing?.row(i);
    return [low.map((value, j) => (gone?.[j] ? NaN : value + sparse[j])), low, sparse];
  };
  const nameOf = (i) => (/^\d+$/.test(data.names[i]) ? `sample ${data.names[i]}` : data.names[i]);
  const labelOf = (i) => `label ${data.labels[i]}`;

  const which = make("p", { class: "which", "aria-live": "polite" });
  const holder = make("div"), after = make("div");
  const slider = make("input", {
    type: "range", min: 0, max: n - 1, value: 0, "aria-label": "sample", oninput: () => sample.set(Number(slider.value)),
  });
  const step = (by) => sample.set(clamp(sample.index + by, 0, n - 1));
  root.append(which, holder);
  if (n > 1)
    root.append(
      make("div", { class: "stepper" }, button("previous", "←", () => step(-1)),
        make("div", {}, track(data.amount), slider), button("next", "→", () => step(1))),
      make("p", { class: "hint" }, "Bars above the slider: how much of each sample is in the sparse part. " +
        "Arrow keys step from sample to sample."));
  root.append(after);
  const view = (data.shape ? imageView : profileView)(holder, after, data, partsOf);

  const show = () => {
    const i = sample.index;
    slider.value = i;
    slider.setAttribute("aria-valuetext", nameOf(i));
    const label = data.labels ? ` · ${labelOf(i)}` : "";
    which.replaceChildren(nameOf(i), make("span", {}, `${label} · ${i + 1} of ${n}`));
    view.draw(i);
  };
  keepDrawn(root, show);
  sample.watchers.push(show);
  sample.describe = (i) => [view.thumbs?.(i), heading(nameOf(i)), data.labels && make("div", {}, labelOf(i))];
  onKeys(document, { ArrowLeft: () => step(-1), ArrowRight: () => step(1) },
    (target) => target === document.body || target.tagName === "BUTTON");
};

// How much of every sample is in the sparse part: bars that are stretched over the slider.
function track(amount) {
  const top = Math.max(...amount) || 1;
  const d = amount.map((value, i) => `M${i} 1V${(1 - value / top).toFixed(3)}`).join("");
  return make("svg", { class: "track", viewBox: `-0.5 0 ${amount.length} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
    make("path", { d }));
}

// -- images -----------------------------------------------------------------------------

const AMBER = [224, 161, 33], BLUE = [33, 102, 172], WHITE = [243, 243, 241], RED = [178, 24, 43];
const mix = (from, to, share) => from.map((c, k) => c + share * (to[k] - c));

// One pixel per pixel; signed values around zero are blue and red, missing ones amber.
function paint(canvas, values, [height, width, channels = 1], [low, high], isSigned) {
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const share = (value) => clamp((value - low) / (high - low || 1), 0, 1);
  const farthest = (a, b) => (Math.abs(b) > Math.abs(a) ? b : a);
  for (let k = 0; k < width * height; k++) {
    const pixel = [...values.subarray(k * channels, (k + 1) * channels)];
    let color = AMBER;
    if (isSigned) {
      const t = 2 * share(pixel.reduce(farthest)) - 1;
      color = mix(WHITE, t < 0 ? BLUE : RED, Math.abs(t));
    } else if (!pixel.some(Number.isNaN))
      color = [0, 1, 2].map((c) => 255 * share(pixel[channels === 1 ? 0 : c]));
    image.data.set([...color, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function imageView(holder, after, data, partsOf) {
  const { low, high, size } = data;
  const panels = [["Original", [low, high]], ["Low-rank", [low, high]], ["Sparse", [-size, size]]];
  const canvases = panels.map(() => make("canvas", { role: "img" }));
  const paintAll = (onto, i) => partsOf(i).map((values, k) => paint(onto[k], values, data.shape, panels[k][1], k === 2));
  const bar = ([from, to], k) => make("div", { class: "scale" }, number(from), make("i", { class: k === 2 ? "signed" : "gray" }), number(to));
  holder.className = Math.max(...data.shape) < 200 ? "panels pixels" : "panels";
  holder.append(...panels.map(([name, ends], k) =>
    make("figure", {}, make("figcaption", {}, name), canvases[k], bar(ends, k))));
  if (data.missing) after.append(make("p", { class: "hint" }, make("i", { class: "key" }), "missing in the data"));
  return {
    draw(i) {
      paintAll(canvases, i).forEach((canvas, k) => canvas.setAttribute("aria-label", `${panels[k][0]}, ${data.names[i]}`));
    },
    thumbs: (i) => make("div", { class: "thumbs" }, ...paintAll(panels.map(() => make("canvas")), i)),
  };
}

// Signed images in a row. data: images (packed), shape.
widgets.gallery = async (root, data) => {
  const { n, row } = await unpack(data.images);
  root.append(make("ul", { class: "gallery" }, ...Array.from({ length: n }, (_, k) => {
    const top = row(k).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const canvas = make("canvas", { role: "img", "aria-label": `component ${k + 1}` });
    return make("li", {}, paint(canvas, row(k), data.shape, [-top, top], true), String(k + 1));
  })));
};

// -- rows of a table --------------------------------------------------------------------

const PROFILE = { left: 58, right: 10, top: 10, below: 250 };
const LARGEST = 6; // errors that are listed

// The low-rank part as a line, the original as points, and what is between them as stems.
function profileView(holder, after, data, partsOf) {
  const p = data.features.length, { left, right: margin, top, below } = PROFILE;
  const own = make("input", { type: "checkbox", checked: data.own_scales, onchange: () => draw(sample.index) });
  const plot = make("div"), errors = make("div");
  holder.append(
    make("div", { class: "controls" }, make("label", {}, own, "each feature on its own scale: deviations from its median")),
    plot,
    make("ul", { class: "series" }, legend("low-rank", ["low", "M0 8H22"]), legend("original", ["point", "M11 8h0"]),
      legend("sparse: their difference", ["stem", "M11 2V14"]), data.missing && legend("missing in the data", ["filled", "M11 8h0"])));
  after.append(errors);

  function draw(i) {
    const [original, low, sparse] = partsOf(i), all = [...low.keys()];
    const filled = all.filter((j) => Number.isNaN(original[j])), known = all.filter((j) => !Number.isNaN(original[j]));
    const wrong = known.filter((j) => sparse[j]);
    const width = plot.clientWidth, right = width - margin, wide = (right - left) / p, named = wide >= 15;
    const moved = (value, j) => (own.checked ? (value - data.center[j]) / data.spread[j] : value);
    const ys = reach([...low].map(moved), known.map((j) => moved(original[j], j)));
    const scale = scaleOf(ys, below, top);
    const x = (j) => left + (j + 0.5) * wide, y = (value, j) => clamp(scale(moved(value, j)), top - 9, below + 9);
    const svg = make("svg", { width, height: below + (named ? 78 : 24), role: "img",
      "aria-label": `${data.names[i]}: the original and the low-rank part over ${p} features` });
    drawTicks(svg, ys, scale, left, right);
    const add = (cls, d) => svg.append(make("path", { class: cls, d }));
    add("low", lineThrough(all.map((j) => [x(j), y(low[j], j)])));
    add("stem", stems(wrong.map((j) => [x(j), y(low[j], j), y(original[j], j)])));
    if (wide >= 3) add("point", dots(known.map((j) => [x(j), y(original[j], j)])));
    add("filled", dots(filled.map((j) => [x(j), y(low[j], j)])));
    if (named)
      data.features.forEach((name, j) => svg.append(make("text", {
        transform: `translate(${x(j) + 4} ${below + 22}) rotate(-50)`, "text-anchor": "end",
      }, name.length > 14 ? `${name.slice(0, 13)}…` : name)));
    else svg.append(make("text", { x: (left + right) / 2, y: below + 20, "text-anchor": "middle" }, "features"));
    const textsOf = (j) => [Number.isNaN(original[j]) ? "missing" : number(original[j]), number(low[j]), number(sparse[j])];
    const guide = make("line", { class: "guide", y1: top, y2: below, visibility: "hidden" });
    svg.append(guide);
    svg.addEventListener("pointermove", (event) => {
      const j = clamp(Math.floor((placeIn(svg, event)[0] - left) / wide), 0, p - 1);
      for (const [name, value] of [["x1", x(j)], ["x2", x(j)], ["visibility", "visible"]]) guide.setAttribute(name, value);
      const [whole, part, rest] = textsOf(j);
      tooltip.show(event.clientX, event.clientY, heading(data.features[j]),
        pairs([["Original", whole], ["Low-rank", part], ["Sparse", rest]]));
    });
    svg.addEventListener("pointerleave", () => { guide.setAttribute("visibility", "hidden"); tooltip.hide(); });
    plot.replaceChildren(svg);
    const size = (j) => Math.abs(sparse[j]) / data.spread[j];
    const largest = wrong.sort((a, b) => size(b) - size(a)).slice(0, LARGEST);
    errors.replaceChildren(largest.length
      ? tableOf("Largest entries of the sparse part", ["feature", "original", "low-rank", "sparse"],
        largest.map((j) => [data.features[j], ...textsOf(j)]))
      : make("p", { class: "hint" }, "Nothing of this sample is in the sparse part."));
  }
  return { draw };
}
