// A sample that is a row of a table: a line over the features for every panel.

const PROFILE = { left: 52, right: 10, top: 22, tall: 96, between: 34 };

function profileView(root, data, valuesOf, lost) {
  const p = data.features.length;
  let current = 0;
  const holder = make("div"), outliers = make("div");
  const box = make("input", { type: "checkbox", checked: data.own_scales, onchange: () => draw() });
  root.append(make("div", { class: "controls" }, make("label", {}, box, "each feature on its own scale")), holder);

  // On its own scale a feature is shown as deviations from its center, in units of its spread.
  const moved = (value, j, kind) =>
    !box.checked ? value : (value - (kind === "signed" ? 0 : data.center[j])) / data.spread[j];

  function draw() {
    const { left, top: first, tall, between } = PROFILE, width = holder.clientWidth;
    const wide = (width - left - PROFILE.right) / p, named = wide >= 15;
    const places = Array.from({ length: p }, (_, j) => left + (j + 0.5) * wide);
    const panels = data.panels.map((panel, k) => {
      const values = valuesOf(panel, current), gone = lost(panel, current);
      return {
        ...panel, values, gone, top: first + k * (tall + between),
        shown: values.map((value, j) => moved(value, j, panel.kind)),
        text: (j) => (gone?.[j] ? "missing" : number(values[j])),
      };
    });
    const below = panels.at(-1).top + tall, height = below + (named ? 78 : 22);
    const svg = make("svg", {
      width, height, role: "img",
      "aria-label": `${data.names[current]}: ${panels.map((panel) => panel.name).join(", ")} over ${p} features`,
    });
    // Plain panels share a scale. Deviations are read from the center, 0.
    const plain = panels.filter((panel) => panel.kind !== "signed");
    const shared = rangeOf([...(box.checked ? [0] : []),
      ...plain.flatMap((panel) => [...panel.shown].filter((_, j) => !panel.gone?.[j]))]);
    for (const panel of panels) {
      const reach = panel.kind === "signed" ? aroundZero(panel.shown) : shared;
      const y = scaleOf(reach, panel.top + tall, panel.top);
      svg.append(make("text", { x: left, y: panel.top - 8, style: "font-weight:600;fill:var(--ink)" }, panel.name));
      drawTicks(svg, ticks(...reach, 3), y, left, width - PROFILE.right);
      (panel.kind === "signed" ? stems : line)(svg, panel, places, y, wide);
    }
    if (named)
      data.features.forEach((name, j) =>
        svg.append(make("text", {
          transform: `translate(${places[j] + 4} ${below + 14}) rotate(-50)`, "text-anchor": "end",
        }, name.length > 14 ? name.slice(0, 13) + "…" : name)));
    else svg.append(make("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "features"));
    followPointer(svg, first, below, places, (j) =>
      [heading(data.features[j]), pairs(panels.map((panel) => [panel.name, panel.text(j)]))]);
    holder.replaceChildren(svg);
    outliers.replaceChildren(largestErrors(data, panels));
  }

  return { after: outliers, draw(i) { current = i; draw(); } };
}

function line(svg, { shown, gone, top }, places, y, wide) {
  let path = "", pen = "M";
  shown.forEach((value, j) => {
    if (gone?.[j]) {
      pen = "M";
      svg.append(make("rect", {
        x: places[j] - Math.max(wide / 2, 1), width: Math.max(wide, 2), y: top, height: PROFILE.tall,
        fill: "var(--missing)", opacity: 0.35,
      }));
      return;
    }
    path += `${pen}${places[j].toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
    if (wide >= 5) svg.append(make("circle", { cx: places[j], cy: y(value), r: 3, fill: "var(--accent)" }));
  });
  svg.append(make("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": wide >= 5 ? 1 : 1.4 }));
}

function stems(svg, { shown }, places, y, wide) {
  const thick = clamp(wide * 0.7, 1, 12);
  shown.forEach((value, j) => {
    if (value)
      svg.append(make("rect", {
        x: places[j] - thick / 2, width: thick, y: Math.min(y(value), y(0)),
        height: Math.max(Math.abs(y(value) - y(0)), 1), fill: value < 0 ? "var(--low)" : "var(--high)",
      }));
  });
}

function largestErrors(data, panels) {
  const sparse = panels.find((panel) => panel.kind === "signed").values;
  const size = (j) => Math.abs(sparse[j]) / data.spread[j];
  const largest = [...sparse.keys()].filter((j) => sparse[j] !== 0).sort((a, b) => size(b) - size(a)).slice(0, 6);
  if (!largest.length) return make("p", { class: "hint" }, "Nothing of this sample is in the sparse part.");
  return tableOf(["feature", ...panels.map((panel) => panel.name)],
    largest.map((j) => [data.features[j], ...panels.map((panel) => panel.text(j))]), "Largest entries of the sparse part");
}
