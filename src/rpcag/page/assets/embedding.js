// The embedding of the samples as points along two components: drag moves, the wheel zooms.

// Paul Tol's "bright": readers who do not tell red from green can tell them apart.
const COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8c8c8c"];
const STEPS = 32; // of the scale of numbers

// Color and shape of class k.
const styleOf = (k) => ({
  class: "points", stroke: COLORS[k % COLORS.length], style: Math.floor(k / COLORS.length) % 2 && "stroke-linecap:square",
});

widgets.embedding = async (root, data) => {
  const { n, row } = await unpack(data.points);
  const axes = [...data.axes];
  const svg = make("svg", { tabindex: 0, role: "img",
    "aria-label": `${data.describes} Arrow keys move it, plus and minus zoom, 0 resets.` });
  const cloud = make("g"), ring = make("circle", { class: "ring", r: 8 });
  const hidden = new Set(); // classes
  let places = [], camera = null, width = 0, tall = 0;

  // Classes, or steps of the scale of numbers.
  const ends = data.numbers && rangeOf(data.numbers);
  const kindOf = data.codes ? (i) => data.codes[i]
    : (i) => Math.floor((STEPS - 1e-9) * clamp((data.numbers[i] - ends[0]) / (ends[1] - ends[0]), 0, 1));
  const kinds = Array.from({ length: data.classes?.length ?? STEPS }, () => []);
  for (let i = 0; i < n; i++) kinds[kindOf(i)].push(i);

  // -- drawing ----------------------------------------------------------------------------

  // Places at the start; later the camera only moves and scales them.
  function draw() {
    [width, tall] = [svg.parentNode.clientWidth, clamp(0.85 * svg.parentNode.clientWidth, 260, 460)];
    svg.setAttribute("width", width);
    svg.setAttribute("height", tall);
    const [xs, ys] = axes.map((axis) => Float32Array.from({ length: n }, (_, i) => row(i)[axis]));
    const x = scaleOf(rangeOf(xs), 20, width - 20), y = scaleOf(rangeOf(ys), tall - 30, 30);
    places = Array.from(xs, (value, i) => [x(value), y(ys[i])]);
    cloud.replaceChildren(...kinds.map((members, k) => make("path", {
      ...(data.classes ? styleOf(k) : { class: "points scaled", style: `--share:${(100 * k) / (STEPS - 1)}%` }),
      "stroke-width": n > 2000 ? 5 : n > 400 ? 6.5 : 9, display: hidden.has(k) && "none", d: dots(members.map((i) => places[i])),
    })));
    const [across, up] = axes.map((axis) => data.names[axis]);
    svg.replaceChildren(cloud, ring, make("text", { "text-anchor": "end", x: width - 10, y: tall - 10 }, across),
      make("text", { "text-anchor": "start", x: 10, y: 20 }, up));
    look(camera ?? middle());
  }
  const middle = () => ({ zoom: 1, x: width / 2, y: tall / 2 });

  // The camera has the place in the middle, and how much it is enlarged.
  function look(next) {
    camera = { ...next, zoom: clamp(next.zoom, 0.3, 60) };
    cloud.setAttribute("transform",
      `translate(${width / 2} ${tall / 2}) scale(${camera.zoom}) translate(${-camera.x} ${-camera.y})`);
    const [x, y] = placeOf(sample.index);
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
  }
  function restart() {
    camera = null;
    draw();
  }
  const placeOf = (i) => [width / 2 + camera.zoom * (places[i][0] - camera.x), tall / 2 + camera.zoom * (places[i][1] - camera.y)];
  const zoom = (by) => look({ ...camera, zoom: camera.zoom * by });
  const move = (dx, dy) => look({ ...camera, x: camera.x - dx / camera.zoom, y: camera.y - dy / camera.zoom });
  const reset = () => look(middle());

  // -- pointer and keys -------------------------------------------------------------------

  // The sample at the pointer, if there is one, with its tooltip.
  function pointedAt(event) {
    const [x, y] = placeIn(svg, event);
    let best = null, least = 14;
    for (let i = 0; i < n; i++) {
      const [px, py] = placeOf(i), away = Math.hypot(px - x, py - y);
      if (away < least && !hidden.has(kindOf(i))) [best, least] = [i, away];
    }
    if (best == null) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, ...sample.describe(best));
    return best;
  }

  let last = null, traveled = 0; // of a pointer that is down
  svg.addEventListener("pointerdown", (event) => {
    [last, traveled] = [event, 0];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!last) return pointedAt(event);
    const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
    tooltip.hide();
    traveled += Math.abs(dx) + Math.abs(dy);
    last = event;
    move(dx, dy);
  });
  svg.addEventListener("pointerup", (event) => {
    last = null;
    const found = traveled > 6 ? null : pointedAt(event);
    if (found != null) sample.set(found);
  });
  svg.addEventListener("pointercancel", () => { last = null; });
  svg.addEventListener("pointerleave", tooltip.hide);
  svg.addEventListener("dblclick", reset);
  svg.addEventListener("wheel", (event) => {
    // The page scrolls over a cloud that nobody has touched.
    if (!event.ctrlKey && document.activeElement !== svg) return;
    event.preventDefault();
    zoom(Math.exp(-0.0015 * event.deltaY));
  }, { passive: false });
  onKeys(svg, {
    ArrowLeft: () => move(-12, 0), ArrowRight: () => move(12, 0), ArrowUp: () => move(0, -12), ArrowDown: () => move(0, 12),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: reset,
  });

  // -- around it --------------------------------------------------------------------------

  const choice = (k) => make("select", {
    "aria-label": k ? "vertical axis" : "horizontal axis",
    onchange: (event) => { axes[k] = Number(event.target.value); restart(); },
  }, ...data.names.map((name, axis) => make("option", { value: axis, selected: axis === axes[k] }, name)));
  const entry = (name, k) => make("li", {}, make("button", {
    type: "button", "aria-pressed": "true",
    onclick(event) {
      hidden.delete(k) || hidden.add(k);
      event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(k)));
      draw();
    },
  }, make("svg", { width: 14, height: 14, "aria-hidden": "true" }, make("path", { ...styleOf(k), "stroke-width": 9, d: "M7 7h0" })), name));
  if (data.names.length > 2) root.append(make("div", { class: "controls" }, choice(0), choice(1)));
  root.append(
    make("div", { class: "cloud" }, svg, make("div", { class: "zoom" }, button("zoom in", "+", () => zoom(1.4)),
      button("zoom out", "−", () => zoom(1 / 1.4)), button("reset the view", "⟲", reset))),
    data.classes ? make("ul", { class: "legend", "aria-label": "labels; press to hide or show" }, ...data.classes.map(entry))
      : make("div", { class: "scale" }, data.ends[0], make("i", { class: "numbers" }), data.ends[1]),
    make("p", { class: "hint" }, "Point at a sample to see it, click to select it. Drag to move; + and − zoom, and so does " +
      "the wheel after a click."));
  keepDrawn(root, restart);
  sample.watchers.push(() => look(camera));
  root.placeOf = placeOf; // for tests
};
