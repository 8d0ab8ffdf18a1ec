// The embedding of the samples as points in two or three dimensions: drag turns (or moves)
// them, the wheel zooms.

const START = { yaw: 0.6, pitch: 0.45, zoom: 1, dx: 0, dy: 0 };

widgets.embedding = async (root, data) => {
  const matrix = await unpack(data.points), { n, p } = matrix;
  const axes = [0, 1, 2].slice(0, p); // components that are shown
  const solid = axes.length === 3;
  const camera = { ...START };
  const hidden = new Set(); // labels
  const scale = data.classes ? null : colorScale(data.numbers, data.ends);
  const isHidden = (i) => data.classes && hidden.has(data.codes[i]);
  const canvas = make("canvas", {
    tabindex: 0, role: "img",
    "aria-label": `${data.describes} Arrow keys ${solid ? "turn" : "move"} it, plus and minus zoom, 0 resets.`,
  });
  let middle = middleOf(matrix, axes);
  let places = new Float32Array(3 * n); // on the canvas, and depths

  // -- drawing ----------------------------------------------------------------------------

  function project([x, y, z], width, tall) {
    const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw);
    const cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    const away = -sy * x + cy * z;
    const [right, up, depth] = solid ? [cy * x + sy * z, cp * y - sp * away, sp * y + cp * away] : [x, y, 0];
    const size = 0.42 * Math.min(width, tall) * camera.zoom;
    return [width / 2 + camera.dx + size * right, tall / 2 + camera.dy - size * up, depth];
  }

  const draw = keepDrawn(root, () => {
    const width = canvas.parentNode.clientWidth, tall = clamp(0.85 * width, 260, 460);
    const context = sized(canvas, width, tall);
    drawAxes(context, width, tall);
    for (let i = 0; i < n; i++) {
      const at = [0, 1, 2].map((k) => (k in axes ? (matrix.values[i * p + axes[k]] - middle.center[k]) / middle.radius : 0));
      places.set(project(at, width, tall), 3 * i);
    }
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    if (solid) order.sort((a, b) => places[3 * b + 2] - places[3 * a + 2]);
    const r = n > 2000 ? 2.2 : n > 400 ? 3 : 4.5;
    for (const i of order) {
      const near = clamp(0.5 - places[3 * i + 2] / 3, 0, 1);
      context.globalAlpha = isHidden(i) ? 0.08 : solid ? 0.45 + 0.5 * near : 0.85;
      context.fillStyle = scale ? scale.color(i) : classColor(data.codes[i]);
      const shape = scale ? "circle" : classShape(data.codes[i]);
      drawShape(context, shape, places[3 * i], places[3 * i + 1], r * (0.85 + 0.3 * near));
      context.fill();
    }
    context.globalAlpha = 1;
    for (const [color, wide] of [["--paper", 5], ["--ink", 2]]) { // a ring around the selected sample
      context.strokeStyle = css(color);
      context.lineWidth = wide;
      drawShape(context, "circle", ...placeOf(sample.index), r + 4.5);
      context.stroke();
    }
  });

  function drawAxes(context, width, tall) {
    context.strokeStyle = css("--line");
    context.fillStyle = css("--soft");
    context.textAlign = "center";
    axes.forEach((axis, k) => {
      const [from, to] = [-1.08, 1.08].map((t) => project([0, 1, 2].map((c) => (c === k ? t : 0)), width, tall));
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.stroke();
      context.fillText(data.axis_names[axis], clamp(to[0], 40, width - 40), clamp(to[1] - 5, 12, tall - 6));
    });
  }

  const placeOf = (i) => [places[3 * i], places[3 * i + 1]];

  // -- view and pointer -------------------------------------------------------------------

  function look(change) {
    Object.assign(camera, change);
    camera.pitch = clamp(camera.pitch, -1.5, 1.5);
    camera.zoom = clamp(camera.zoom, 0.3, 40);
    draw();
  }
  const zoom = (by) => look({ zoom: camera.zoom * by });
  const reset = () => look(START);
  const move = (dx, dy) => look(solid
    ? { yaw: camera.yaw + 0.01 * dx, pitch: camera.pitch + 0.01 * dy }
    : { dx: camera.dx + dx, dy: camera.dy + dy });

  // The sample at the pointer, if there is one, with its tooltip.
  function pointedAt(event) {
    const [x, y] = placeIn(canvas, event);
    let best = null, least = 14 ** 2;
    for (let i = 0; i < n; i++) {
      const away = (places[3 * i] - x) ** 2 + (places[3 * i + 1] - y) ** 2;
      if (away < least && !isHidden(i)) [best, least] = [i, away];
    }
    canvas.style.cursor = best == null ? "" : "pointer";
    if (best == null) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, ...sample.describe(best));
    return best;
  }

  const down = new Map(); // pointers: one turns, two pinch
  let traveled = 0;
  const apart = () => {
    const [a, b] = [...down.values()];
    return b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1 : null;
  };
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
    traveled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId), was = apart();
    if (!before) return pointedAt(event);
    tooltip.hide();
    down.set(event.pointerId, event);
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    traveled += Math.abs(dx) + Math.abs(dy);
    was ? zoom(apart() / was) : move(dx, dy);
  });
  canvas.addEventListener("pointerup", (event) => {
    down.delete(event.pointerId);
    const found = traveled > 6 ? null : pointedAt(event);
    if (found != null) sample.set(found);
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", tooltip.hide);
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls over a cloud that nobody has touched.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-0.0015 * event.deltaY));
  }, { passive: false });
  onKeys(canvas, {
    ArrowLeft: () => move(-12, 0), ArrowRight: () => move(12, 0),
    ArrowUp: () => move(0, -12), ArrowDown: () => move(0, 12),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: reset,
  });

  // -- around it --------------------------------------------------------------------------

  function axisChoice(k) {
    const select = make("select", {
      "aria-label": `axis ${k + 1}`,
      onchange: () => {
        axes[k] = Number(select.value);
        middle = middleOf(matrix, axes);
        draw();
      },
    }, ...data.axis_names.map((_, j) => make("option", { value: j, selected: j === k }, String(j + 1))));
    return select;
  }
  function legendEntry(name, k) {
    const entry = make("button", {
      type: "button", "aria-pressed": "true",
      onclick: () => {
        hidden.delete(k) || hidden.add(k);
        entry.setAttribute("aria-pressed", String(!hidden.has(k)));
        draw();
      },
    }, swatch(k), name);
    return make("li", {}, entry);
  }
  if (p > axes.length)
    root.append(make("div", { class: "controls", role: "group", "aria-label": "components on the axes" },
      make("label", {}, "components"), ...axes.map(axisChoice)));
  root.append(
    make("div", { class: "cloud" }, canvas, make("div", { class: "zoom" }, button("zoom in", "+", () => zoom(1.4)),
      button("zoom out", "−", () => zoom(1 / 1.4)), button("reset the view", "⟲", reset))),
    scale ? scale.bar : make("ul", { class: "legend", "aria-label": "labels; press to hide or show" },
      ...data.classes.map(legendEntry)),
    make("p", { class: "hint" }, `Drag to ${solid ? "turn" : "move"}; + and − zoom, and so does the wheel after a ` +
      "click. Point at a sample to see it, click to select it."));
  sample.watch(draw);
  root.placeOf = placeOf; // for tests
};

// Center, and a radius that a few far points do not decide.
function middleOf({ n, p, values }, axes) {
  const rows = Array.from({ length: n }, (_, i) => axes.map((a) => values[i * p + a]));
  const center = axes.map((_, k) => rows.reduce((sum, row) => sum + row[k], 0) / n);
  const radii = rows.map((row) => Math.hypot(...row.map((value, k) => value - center[k]))).sort((a, b) => a - b);
  return { center, radius: radii[Math.floor(0.98 * (n - 1))] || radii.at(-1) || 1 };
}

// Colors of numbers, and a bar that tells them; `ends` are its names, else the numbers.
function colorScale(values, ends) {
  const low = Math.min(...values), high = Math.max(...values);
  const [first, last] = ends || [number(low), number(high)];
  const bar = make("i");
  let colors = [];
  const update = () => {
    colors = values.map((value) => `rgb(${sequential()((value - low) / (high - low || 1))})`);
    bar.style.background = gradient(sequential());
  };
  update();
  document.addEventListener("theme", update);
  return { color: (i) => colors[i], bar: make("div", { class: "scale" }, first, bar, last) };
}
