// The embedding of the samples, colored by their labels.

widgets.embedding = async (root, data) => {
  const matrix = await unpack(data.points);
  const selection = selectionOf(data.group);
  const camera = makeCamera();
  const hidden = new Set();
  const classes = data.classes; // names, or null
  const colors = classes ? null : numberColors(data.numbers, data.ends);
  const mark = (i) => {
    if (colors) return { color: colors.of(i), shape: "circle", faint: false };
    const k = data.codes[i];
    return { color: classColor(k), shape: classShape(k), faint: hidden.has(k) };
  };

  const canvas = make("canvas", {
    tabindex: 0, role: "img",
    "aria-label": `${data.describes} Arrow keys ${matrix.p > 2 ? "turn" : "move"} it, plus and minus zoom, 0 resets.`,
  });
  const zoom = (by) => camera.change({ zoom: camera.zoom * by });
  const button = (name, text, act) =>
    make("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
  const axes = Array.from({ length: Math.min(matrix.p, 3) }, (_, k) => k);
  const drawn = cloud(canvas, {
    matrix, axes, camera, mark,
    selected: () => selection.index,
    height: (width) => clamp(0.85 * width, 260, 460),
    frame: (chosen) => frameCloud(matrix, chosen),
    hover: (i) => selection.describe?.(i) || [data.names[i]],
    pick: (i) => selection.set(i),
    name: (axis) => data.axis_names[axis],
  });
  selection.watch(drawn.redraw);
  if (matrix.p > axes.length) root.append(axisChoice(data.axis_names, axes, drawn));
  root.append(make("div", { class: "cloud" }, canvas, make("div", { class: "zoom" },
    button("zoom in", "+", () => zoom(1.4)), button("zoom out", "−", () => zoom(1 / 1.4)),
    button("reset the view", "⟲", () => camera.change(START)))));
  if (classes) root.append(legendOf(classes, hidden, drawn));
  if (colors) root.append(colors.bar);
  root.append(make("p", { class: "hint" },
    `Drag to ${matrix.p > 2 ? "turn" : "move"}; + and − zoom, and so does the wheel after a click. ` +
    "Point at a sample to see it, click to select it."));
  root.cloud = drawn; // for tests
};

function axisChoice(names, axes, drawn) {
  const controls = make("div", { class: "controls", role: "group", "aria-label": "components on the axes" },
    make("label", {}, "components"));
  axes.forEach((axis, k) => {
    const select = make("select", {
      "aria-label": `axis ${k + 1}`,
      onchange: () => {
        axes[k] = Number(select.value);
        drawn.setAxes([...axes]);
      },
    }, ...names.map((name, j) => make("option", { value: j, selected: j === axis }, String(j + 1))));
    controls.append(select);
  });
  return controls;
}

function legendOf(classes, hidden, drawn) {
  const list = make("ul", { class: "legend", "aria-label": "labels; press to hide or show" });
  classes.forEach((name, k) => {
    const button = make("button", {
      type: "button", "aria-pressed": "true",
      onclick: () => {
        hidden.has(k) ? hidden.delete(k) : hidden.add(k);
        button.setAttribute("aria-pressed", String(!hidden.has(k)));
        drawn.redraw();
      },
    }, swatch(k), name);
    list.append(make("li", {}, button));
  });
  return list;
}

function numberColors(values, ends) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const names = ends || [number(low), number(high)];
  const bar = make("i");
  let all = [];
  const color = () => {
    all = values.map((value) => hexOf(sequential()((value - low) / (high - low || 1))));
    bar.style.background = gradient(sequential());
  };
  color();
  document.addEventListener("theme", color);
  return { of: (i) => all[i], bar: make("div", { class: "scale" }, names[0], bar, names[1]) };
}

// Several small clouds that turn together. data: clouds of {name, note, points, codes}.
widgets.clouds = async (root, data) => {
  const camera = makeCamera();
  const grid = make("div", { class: "small-clouds" });
  root.append(grid, make("p", { class: "hint" }, "Drag one to turn all; + and − zoom after a click."));
  for (const one of data.clouds) {
    const matrix = await unpack(one.points);
    const canvas = make("canvas", {
      tabindex: 0, role: "img", "aria-label": `${one.name}: ${one.note}. Arrow keys turn it.`,
    });
    grid.append(make("figure", { class: "cloud" },
      make("figcaption", {}, make("b", {}, one.name), ` ${one.note}`), canvas));
    cloud(canvas, {
      matrix, axes: [0, 1, 2].slice(0, matrix.p), camera,
      mark: (i) => ({ color: classColor(one.codes[i]), shape: classShape(one.codes[i]) }),
      selected: () => null,
      height: (width) => width,
      frame: (axes) => frameCloud(matrix, axes),
      hover: (i) => [`${data.class_name} ${one.codes[i] + 1}`],
      pick: () => {},
      name: (axis) => String(axis + 1),
    });
  }
};
