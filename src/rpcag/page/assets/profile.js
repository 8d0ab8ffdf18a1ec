// A sample that is a row of a table: a line over the features for every panel.

const PROFILE = { left: 52, right: 10, top: 22, tall: 96, between: 34 };

function profileView(root, data, valuesOf, lost) {
  const p = data.features.length;
  let own = data.own_scales; // each feature on its own scale
  let current = 0;
  const holder = make("div");
  const box = make("input", {
    type: "checkbox",
    onchange: () => { own = box.checked; draw(); },
  });
  box.checked = own;
  const controls = make("div", { class: "controls" },
    make("label", {}, box, "each feature on its own scale"));
  const outliers = make("div");
  root.append(controls, holder);

  // On its own scale a feature is shown as deviations from its center, in units of its spread.
  const moved = (value, j, kind) =>
    !own ? value : (value - (kind === "signed" ? 0 : data.center[j])) / data.spread[j];

  function draw() {
    const width = holder.clientWidth;
    if (!width) return;
    const gone = lost(current);
    const rows = data.panels.map((panel) => valuesOf(panel, current));
    const wide = (width - PROFILE.left - PROFILE.right) / p;
    const named = wide >= 15;
    const deep = named ? 78 : 22;
    const high = PROFILE.top + data.panels.length * (PROFILE.tall + PROFILE.between) - PROFILE.between + deep;
    const svg = make("svg", {
      width, height: high, role: "img",
      "aria-label": `${data.names[current]}: ${data.panels.map((panel) => panel.name).join(", ")} over ${p} features`,
    });
    const x = (j) => PROFILE.left + (j + 0.5) * wide;
    const shapes = data.panels.map((panel, k) => rows[k].map((value, j) => moved(value, j, panel.kind)));
    // Deviations are read from the center, 0.
    const shared = rangeOf([own ? 0 : [], data.panels.map((panel, k) =>
      panel.kind === "signed" ? [] : [...shapes[k]].filter((_, j) => !(panel.shows_missing && gone?.[j])))].flat(2));
    data.panels.forEach((panel, k) => {
      const top = PROFILE.top + k * (PROFILE.tall + PROFILE.between);
      const reach = panel.kind === "signed" ? aroundZero(shapes[k]) : shared;
      const y = (value) => top + PROFILE.tall * (1 - (value - reach[0]) / (reach[1] - reach[0]));
      svg.append(make("text", { x: PROFILE.left, y: top - 8, style: "font-weight:600;fill:var(--ink)" }, panel.name));
      for (const tick of ticks(...reach, 3))
        svg.append(
          make("line", { class: "axis", x1: PROFILE.left, x2: width - PROFILE.right, y1: y(tick), y2: y(tick) }),
          make("text", { x: PROFILE.left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
      panel.kind === "signed"
        ? stems(svg, shapes[k], x, y, wide)
        : line(svg, shapes[k], x, y, wide, panel.shows_missing ? gone : null, top);
    });
    if (named)
      data.features.forEach((name, j) =>
        svg.append(make("text", {
          transform: `translate(${x(j) + 4} ${high - deep + 14}) rotate(-50)`, "text-anchor": "end",
        }, name.length > 14 ? name.slice(0, 13) + "…" : name)));
    else
      svg.append(make("text", { x: (PROFILE.left + width) / 2, y: high - 6, "text-anchor": "middle" }, "features"));
    const guide = make("line", { class: "guide", y1: PROFILE.top, y2: high - deep, visibility: "hidden" });
    svg.append(guide);
    svg.addEventListener("pointermove", (event) => {
      const j = clamp(Math.floor((event.clientX - svg.getBoundingClientRect().left - PROFILE.left) / wide), 0, p - 1);
      guide.setAttribute("x1", x(j));
      guide.setAttribute("x2", x(j));
      guide.setAttribute("visibility", "visible");
      tooltip.show(event.clientX, event.clientY, make("div", { class: "name" }, data.features[j]),
        pairs(data.panels.map((panel, k) => [
          panel.name, panel.shows_missing && gone?.[j] ? "missing" : number(rows[k][j])])));
    });
    svg.addEventListener("pointerleave", () => {
      guide.setAttribute("visibility", "hidden");
      tooltip.hide();
    });
    holder.replaceChildren(svg);
    listOutliers(outliers, data, rows, gone);
  }

  const later = keepDrawn(holder, draw);
  return { after: outliers, draw(i) { current = i; later(); } };
}

function line(svg, values, x, y, wide, gone, top) {
  let path = "";
  let pen = "M";
  values.forEach((value, j) => {
    if (gone?.[j]) {
      pen = "M";
      svg.append(make("rect", {
        x: x(j) - Math.max(wide / 2, 1), width: Math.max(wide, 2), y: top, height: PROFILE.tall,
        fill: "var(--missing)", opacity: 0.35,
      }));
      return;
    }
    path += `${pen}${x(j).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
    if (wide >= 5) svg.append(make("circle", { cx: x(j), cy: y(value), r: 3, fill: "var(--accent)" }));
  });
  svg.append(make("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": wide >= 5 ? 1 : 1.4 }));
}

function stems(svg, values, x, y, wide) {
  const thick = clamp(wide * 0.7, 1, 12);
  values.forEach((value, j) => {
    if (value)
      svg.append(make("rect", {
        x: x(j) - thick / 2, width: thick, y: Math.min(y(value), y(0)),
        height: Math.max(Math.abs(y(value) - y(0)), 1), fill: value < 0 ? "var(--low)" : "var(--high)",
      }));
  });
}

function listOutliers(root, data, rows, gone) {
  const at = (kind) => data.panels.findIndex((panel) => panel.kind === kind);
  const sparse = rows[at("signed")];
  const size = (j) => Math.abs(sparse[j]) / data.spread[j];
  const largest = Array.from(sparse.keys()).filter((j) => sparse[j] !== 0)
    .sort((a, b) => size(b) - size(a)).slice(0, 6);
  if (!largest.length) {
    root.replaceChildren(make("p", { class: "hint" }, "Nothing of this sample is in the sparse part."));
    return;
  }
  const body = largest.map((j) => make("tr", {},
    make("th", { scope: "row" }, data.features[j]),
    ...rows.map((row, k) => make("td", {},
      data.panels[k].shows_missing && gone?.[j] ? "missing" : number(row[j])))));
  const head = ["feature", ...data.panels.map((panel) => panel.name)];
  root.replaceChildren(make("div", { class: "scroll" }, make("table", {},
    make("caption", {}, "Largest entries of the sparse part"),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...body))));
}
