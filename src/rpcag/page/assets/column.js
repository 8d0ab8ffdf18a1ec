// One column of a repaired table over its rows: values, filled gaps, and wrong cells.

const COLUMN = { left: 64, right: 10, top: 12, plot: 270, bottom: 30 };

widgets.column = (root) => {
  const { columns, cells, lines, rows: n } = repair;
  const p = columns.names.length;
  const most = [-0.5, n - 0.5], least = Math.min(n, 8); // rows seen at a time
  const byColumn = Array.from({ length: p }, () => []);
  for (let k = 0; k < cells.count; k++) byColumn[cells.column[k]].push(k); // in the order of rows
  let frame = null, drag = null;

  // -- controls ---------------------------------------------------------------------------

  const menu = make("select", { "aria-label": "column", onchange: () => repair.column.set(Number(menu.value)) },
    ...columns.names.map((name, j) => {
      const told = [[columns.filled[j], "filled"], [columns.replaced[j], "replaced"]].filter(([count]) => count);
      return make("option", { value: j }, told.length ? `${name} (${told.map((part) => part.join(" ")).join(", ")})` : name);
    }));
  const step = (by) => repair.column.set(clamp(repair.column.index + by, 0, p - 1));
  const zoom = (by) => {
    const [from, to] = repair.view, more = ((by - 1) * (to - from)) / 2;
    look(from - more, to + more);
  };
  const pan = (by) => look(...repair.view.map((end) => end + by * (repair.view[1] - repair.view[0])));
  const whole = () => look(...most);
  const controls = make("div", { class: "controls" },
    make("span", { class: "buttons" }, button("previous column", "↑", () => step(-1)), menu, button("next column", "↓", () => step(1))),
    make("span", { class: "buttons" }, button("zoom in", "+", () => zoom(0.5)), button("zoom out", "−", () => zoom(2)),
      button("all rows", "All rows", whole)),
    make("span", { class: "buttons" }, button("previous change", "← change", () => walk(-1)),
      button("next change", "change →", () => walk(1))));
  const facts = make("p", { class: "hint wide", "aria-live": "polite" });
  const canvas = make("canvas", { tabindex: 0, role: "img" });
  const mark = (...parts) => make("svg", { width: 22, height: 16, "aria-hidden": "true" }, ...parts);
  const stem = { x1: 8, x2: 8, y1: 1, y2: 15 };
  const legend = make("ul", { class: "series" },
    make("li", {}, mark(make("line", { x1: 0, x2: 22, y1: 8, y2: 8, stroke: "var(--soft)", "stroke-width": 1.5 })),
      lines.edges ? `least to largest value of ${lines.edges[1]} rows` : "value"),
    make("li", {}, mark(make("line", { ...stem, stroke: `var(${GAP})`, "stroke-width": 4, opacity: 0.35 }),
      svgShape("circle", 8, 8, 3.5, { fill: `var(${GAP})` })), `gap filled, with its ${repair.coverage} interval`),
    make("li", {}, mark(make("line", { x1: 8, x2: 8, y1: 3, y2: 12, stroke: `var(${WRONG})` }),
      svgShape("circle", 8, 3.5, 2.6, { fill: "var(--paper)", stroke: `var(${WRONG})`, "stroke-width": 1.4 }),
      svgShape("diamond", 8, 12, 3, { fill: `var(${WRONG})` })), "wrong value (hollow) and its replacement"));
  root.append(controls, facts, make("div", { class: "plot" }, canvas), legend,
    make("p", { class: "hint wide" }, "Drag over the chart to zoom in. Keys: ← → move, + − zoom, 0 all rows, ↑ ↓ other columns, n and p next and previous change."));

  // -- what is seen -----------------------------------------------------------------------

  function look(from, to) {
    const span = clamp(to - from, least, n);
    const start = clamp((from + to - span) / 2, most[0], most[1] - span);
    repair.view = [start, start + span];
    repair.viewed?.();
    draw();
  }

  function walk(by) {
    const found = byColumn[repair.column.index];
    const here = found.indexOf(repair.cell);
    if (found.length) repair.see(found[here < 0 ? (by > 0 ? 0 : found.length - 1) : clamp(here + by, 0, found.length - 1)]);
  }

  repair.see = (k) => {
    repair.cell = k;
    repair.column.set(cells.column[k]);
    const span = Math.min(repair.view[1] - repair.view[0], 120);
    look(cells.row[k] - span / 2, cells.row[k] + span / 2);
    tooltip.hide();
  };

  // -- drawing ----------------------------------------------------------------------------

  // Places and values of the line: [row, low, high], one per row, bin or pixel.
  function* samples(j, width) {
    const { edges, low, high } = lines, { view } = repair;
    const first = Math.max(0, Math.floor(view[0])), last = Math.min(n - 1, Math.ceil(view[1]));
    if (edges) {
      const size = edges[1];
      for (let b = Math.floor(first / size); b <= Math.floor(last / size); b++)
        yield [(edges[b] + edges[b + 1] - 1) / 2, low.values[b * p + j], high.values[b * p + j]];
      return;
    }
    const size = Math.max(1, Math.floor((last - first) / (1.5 * width)));
    for (let i = first; i <= last; i += size) {
      let least = Infinity, largest = -Infinity;
      for (let k = i; k < Math.min(i + size, n); k++) {
        least = Math.min(least, low.values[k * p + j] ?? NaN);
        largest = Math.max(largest, low.values[k * p + j]);
      }
      yield [i + (Math.min(size, n - i) - 1) / 2, least, largest];
    }
  }

  // Values, and old values as far as they do not squeeze all others; in scaled units.
  function reach(line, seen) {
    const inner = line.flatMap(([, low, high]) => [low, high]);
    for (const k of seen) inner.push(cells.after[k], cells.lower[k], cells.upper[k]);
    const [low, high] = rangeOf(inner.filter(Number.isFinite));
    const span = high - low;
    const old = seen.map((k) => cells.before[k]).filter(Number.isFinite);
    return rangeOf([low, high, ...old.map((value) => clamp(value, low - span, high + span))]);
  }

  function draw() {
    const j = repair.column.index, { view } = repair, width = canvas.parentNode.clientWidth;
    const below = COLUMN.top + COLUMN.plot, right = width - COLUMN.right;
    const context = sized(canvas, width, below + COLUMN.bottom);
    const x = scaleOf(view, COLUMN.left, right);
    const line = [...samples(j, right - COLUMN.left)];
    const seen = byColumn[j].filter((k) => cells.row[k] >= view[0] && cells.row[k] <= view[1]);
    const ys = reach(line, seen);
    const y = scaleOf(ys, below, COLUMN.top);
    frame = { x, y, row: (px) => view[0] + ((px - COLUMN.left) / (right - COLUMN.left)) * (view[1] - view[0]), seen, j };
    const ends = ys.map((value) => columns.center[j] + columns.unit[j] * value);
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(...ends, 5)) {
      const at = y((tick - columns.center[j]) / columns.unit[j]);
      context.fillStyle = css("--line");
      context.fillRect(COLUMN.left, Math.round(at), right - COLUMN.left, 1);
      context.fillStyle = css("--soft");
      context.fillText(tickName(tick, ends), COLUMN.left - 7, at);
    }
    paintRowNames(context, view, x, COLUMN.left, right, below + 16);
    context.save();
    context.beginPath();
    context.rect(COLUMN.left, 0, right - COLUMN.left, below + 4);
    context.clip();
    paintLine(context, line, x, y);
    paintChanges(context, seen, x, y, ys);
    if (drag && drag.moved) {
      context.fillStyle = css("--accent");
      context.globalAlpha = 0.15;
      context.fillRect(drag.from, COLUMN.top, drag.to - drag.from, COLUMN.plot);
    }
    context.restore();
    if (!line.some(([, low]) => Number.isFinite(low))) {
      context.fillStyle = css("--soft");
      context.fillText("no values", (COLUMN.left + right) / 2, COLUMN.top + COLUMN.plot / 2);
    }
    menu.value = j;
    facts.textContent = factsOf(j);
    canvas.setAttribute("aria-label",
      `${columns.names[j]} over the rows from ${repair.rowName(nearestNamed(Math.ceil(Math.max(view[0], 0))))} to ${repair.rowName(nearestNamed(Math.floor(Math.min(view[1], n - 1))))}: ${facts.textContent}`);
  }

  function tickName(tick, [low, high]) {
    const digits = Math.max(0, 1 - Math.floor(Math.log10(high - low)));
    return digits > 6 || Math.max(Math.abs(low), Math.abs(high)) >= 1e6 ? number(tick)
      : tick.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace(/^-(?=0*\.?0*$)/, "").replace(/^-/, "−");
  }

  function paintLine(context, line, x, y) {
    const wide = line.some(([, low, high]) => high > low);
    context.strokeStyle = css("--soft");
    context.fillStyle = css("--soft");
    context.lineWidth = 1.2;
    context.lineJoin = "round";
    for (let k = 0, from = 0; k <= line.length; k++) {
      if (k < line.length && Number.isFinite(line[k][1])) continue;
      const part = line.slice(from, k);
      from = k + 1;
      if (!part.length) continue;
      context.beginPath();
      part.forEach(([i, low]) => context.lineTo(x(i), y(low)));
      if (wide) {
        part.reverse().forEach(([i, , high]) => context.lineTo(x(i), y(high)));
        context.closePath();
        context.globalAlpha = 0.35;
        context.fill();
        context.globalAlpha = 1;
      }
      context.stroke();
      const apart = x(1) - x(0);
      if (!wide && (apart > 6 || part.length === 1))
        for (const [i, low] of part) context.fillRect(x(i) - 1.2, y(low) - 1.2, 2.4, 2.4);
    }
  }

  function paintChanges(context, seen, x, y, [bottom, top]) {
    const apart = x(1) - x(0), dense = seen.length > 300;
    const bar = clamp(apart * 0.5, 2, 8), r = clamp(apart * 0.3, dense ? 1.3 : 2.2, 4.5);
    for (const k of seen) {
      const at = x(cells.row[k]), gap = repair.isGap(k), color = css(gap ? GAP : WRONG);
      context.fillStyle = context.strokeStyle = color;
      if (!dense && Number.isFinite(cells.lower[k]) && Number.isFinite(cells.upper[k])) {
        context.globalAlpha = 0.3;
        context.fillRect(at - bar / 2, y(cells.upper[k]), bar, y(cells.lower[k]) - y(cells.upper[k]));
        context.globalAlpha = 1;
      }
      if (!gap) {
        const old = clamp(cells.before[k], bottom, top), beyond = old !== cells.before[k];
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(at, y(old));
        context.lineTo(at, y(cells.after[k]));
        context.globalAlpha = dense ? 0.3 : 1;
        context.stroke();
        context.globalAlpha = 1;
        // A value beyond the chart is a hollow arrow at its edge.
        const way = cells.before[k] > top ? 1 : -1, end = y(old) + (beyond ? way * 5 : 0);
        context.beginPath();
        if (beyond) {
          context.moveTo(at, end - way * 5);
          context.lineTo(at + 4, end + way * 3);
          context.lineTo(at - 4, end + way * 3);
          context.closePath();
        } else context.arc(at, end, r, 0, 2 * Math.PI);
        context.fillStyle = css("--paper");
        context.fill();
        context.lineWidth = 1.4;
        context.stroke();
        context.fillStyle = color;
      }
      drawShape(context, gap ? "circle" : "diamond", at, y(cells.after[k]), r);
      context.fill();
      if (k === repair.cell) {
        context.strokeStyle = css("--ink");
        context.lineWidth = 2;
        drawShape(context, "circle", at, y(cells.after[k]), r + 4);
        context.stroke();
      }
    }
  }

  function factsOf(j) {
    const told = [];
    if (columns.explained[j] != null) told.push(`${number(Math.round(100 * columns.explained[j]))} % of the spread of hidden cells predicted`);
    if (columns.error[j] != null && columns.median_error[j] != null)
      told.push(`typical error ${inColumn(columns.error[j], j)}, of the median ${inColumn(columns.median_error[j], j)}`);
    told.push(`${columns.filled[j].toLocaleString("en")} filled`, `${columns.replaced[j].toLocaleString("en")} replaced`);
    if (columns.notes[j]) told.push(columns.notes[j]);
    return told.join(" · ");
  }

  // -- pointer and keys -------------------------------------------------------------------

  function hover(event) {
    const [px, py] = placeIn(canvas, event), { x, y, seen, j } = frame;
    let best = null, distance = Math.max(4, (x(1) - x(0)) / 2);
    for (const k of seen) {
      // Of changes about as near from the left or right, the nearest of all.
      const found = Math.abs(x(cells.row[k]) - px) + 0.01 * Math.abs(y(cells.after[k]) - py);
      if (found < distance) [best, distance] = [k, found];
    }
    if (best != null) return tooltip.show(event.clientX, event.clientY, ...repair.tell(best));
    const i = Math.round(frame.row(px));
    if (px < COLUMN.left || i < 0 || i >= n) return tooltip.hide();
    const { edges, low, high } = lines;
    const b = edges ? Math.floor(i / edges[1]) : i;
    const told = edges
      ? pairs([["least", repair.value(low.values[b * p + j], j)], ["largest", repair.value(high.values[b * p + j], j)]])
      : pairs([["value", repair.value(low.values[i * p + j], j)]]);
    const name = edges
      ? `${repair.rowName(nearestNamed(edges[b]))} to ${repair.rowName(nearestNamed(edges[b + 1] - 1))}` : repair.rowName(i);
    tooltip.show(event.clientX, event.clientY, heading(name), told);
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [px] = placeIn(canvas, event);
    drag = { from: px, to: px, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    drag.to = placeIn(canvas, event)[0];
    drag.moved ||= Math.abs(drag.to - drag.from) > 5;
    tooltip.hide();
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    const done = drag;
    drag = null;
    if (done?.moved) look(...[frame.row(done.from), frame.row(done.to)].sort((a, b) => a - b));
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  canvas.addEventListener("pointerleave", tooltip.hide);
  canvas.addEventListener("dblclick", whole);
  onKeys(canvas, {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => step(-1), ArrowDown: () => step(1),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole, n: () => walk(1), p: () => walk(-1),
  });
  repair.column.watch(draw);
  keepDrawn(root, draw)();
};
