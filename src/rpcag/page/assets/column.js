// One column of a repaired table over its rows: values, filled gaps, and wrong cells.

const COLUMN = { left: 64, right: 10, top: 12, below: 282, height: 316 };
const AROUND = 120; // rows that are shown around a cell

widgets.column = async (root, data) => {
  const { columns, names, rows: n, step } = data;
  const [lines, cells] = [await unpack(data.lines), await unpack(data.cells)];
  const [rowOf, columnOf, before, after, lower, upper, score] = Array.from({ length: 7 }, (_, k) => cells.row(k));
  const cellsOf = columns.map(() => []);
  columnOf.forEach((j, k) => cellsOf[j].push(k)); // in the order of rows
  const { left, top, below } = COLUMN;
  let j = data.first, view = [-0.5, n - 0.5], chosen = -1, drag = null, frame = null;

  const nameOf = (i) => (/^\d+$/.test(names?.[i] ?? i) ? `row ${names?.[i] ?? i + 1}` : names[i]);
  const unscaled = (value) => columns[j].center + columns[j].unit * value;
  // With the digits that the error of the column allows.
  function text(value) {
    const { digits } = columns[j], found = unscaled(value);
    return digits > 6 || !(Math.abs(found) < 1e9) ? number(found) : fixed(found, digits);
  }
  const isGap = (k) => Number.isNaN(before[k]);

  // -- controls ---------------------------------------------------------------------------

  const menu = make("select", { "aria-label": "column", onchange: () => show(Number(menu.value)) },
    ...columns.map(({ name }, value) => make("option", { value }, name)));
  const zoom = (by) => {
    const [from, to] = view, more = ((by - 1) * (to - from)) / 2;
    look(from - more, to + more);
  };
  const pan = (by) => look(...view.map((end) => end + by * (view[1] - view[0])));
  const whole = () => look(-0.5, n - 0.5);
  function walk(by) {
    const found = cellsOf[j], here = found.indexOf(chosen);
    const next = here < 0 ? (by > 0 ? 0 : found.length - 1) : clamp(here + by, 0, found.length - 1);
    if (found.length) show(j, rowOf[found[next]]);
  }
  const group = (...buttons) => make("span", { class: "buttons" }, ...buttons);
  const facts = make("p", { class: "hint", "aria-live": "polite" });
  const plot = make("div", { class: "plot", tabindex: 0, role: "img" });
  root.append(
    make("div", { class: "controls" }, menu,
      group(button("zoom in", "+", () => zoom(0.5)), button("zoom out", "−", () => zoom(2)), button("all rows", "All rows", whole)),
      group(button("previous change", "← change", () => walk(-1)), button("next change", "change →", () => walk(1)))),
    facts, plot,
    make("ul", { class: "series" }, legend("value", ["value", "M0 8H22"]),
      legend(`gap filled, with its ${data.coverage} interval`, ["interval", "M11 1V15"], ["filled", "M11 8h0"]),
      legend("wrong value (hollow) and its replacement", ["stem", "M11 3V12"], ["wrong", "M11 4h0"], ["hole", "M11 4h0"], ["new", "M11 13h0"])),
    make("p", { class: "hint" }, "Drag over the chart to zoom in. Keys: ← → move, + − zoom, 0 all rows, ↑ ↓ other columns, " +
      "n and p next and previous change."));

  // -- what is seen -----------------------------------------------------------------------

  function look(from, to) {
    const span = clamp(to - from, Math.min(n, 8), n);
    const start = clamp((from + to - span) / 2, -0.5, n - 0.5 - span);
    root.view = view = [start, start + span];
    draw();
  }

  // Show a column, and a changed cell of it.
  function show(column, row = null) {
    j = clamp(column, 0, columns.length - 1);
    chosen = row == null ? -1 : cellsOf[j].find((k) => rowOf[k] === row) ?? -1;
    menu.value = j;
    facts.textContent = columns[j].facts;
    const half = Math.min(view[1] - view[0], AROUND) / 2;
    tooltip.hide();
    row == null ? draw() : look(row - half, row + half);
  }

  function draw() {
    const width = plot.clientWidth, right = width - COLUMN.right;
    const x = scaleOf(view, left, right), isSeen = (i) => i >= view[0] && i <= view[1];
    const first = Math.max(0, Math.floor(view[0] / step)), last = Math.min(lines.n - 1, Math.ceil(view[1] / step));
    const drawn = Array.from({ length: last - first + 1 }, (_, k) => first + k);
    const line = drawn.map((k) => [k * step, lines.row(k)[j]]);
    const seen = cellsOf[j].filter((k) => isSeen(rowOf[k])), gaps = seen.filter(isGap), wrong = seen.filter((k) => !isGap(k));
    const inner = [...line.map(([, value]) => value), ...seen.flatMap((k) => [after[k], lower[k], upper[k]])];
    const ends = reach(inner.filter(Number.isFinite), wrong.map((k) => before[k]).filter(Number.isFinite)).map(unscaled);
    const scale = scaleOf(ends, below, top);
    const y = (value) => (Number.isNaN(value) ? NaN : clamp(scale(unscaled(value)), top - 9, below + 9));
    const svg = make("svg", { width, height: COLUMN.height });
    const add = (cls, d) => svg.append(make("path", { class: cls, d }));
    const at = (members, values) => members.map((k) => [x(rowOf[k]), y(values[k])]);
    drawTicks(svg, ends, scale, left, right);
    nameRows(svg, x, right);
    if (!line.some(([, value]) => Number.isFinite(value)))
      svg.append(make("text", { x: (left + right) / 2, y: (top + below) / 2, "text-anchor": "middle" }, "no values"));
    add("value", lineThrough(line.map(([i, value]) => [x(i), y(value)])));
    if (x(step) - x(0) > 6) add("value points", dots(line.filter(([, value]) => Number.isFinite(value)).map(([i, value]) => [x(i), y(value)])));
    if (seen.length < 400) add("interval", stems(seen.filter((k) => lower[k] <= upper[k]).map((k) => [x(rowOf[k]), y(lower[k]), y(upper[k])])));
    add("filled", dots(at(gaps, after)));
    add("stem", stems(wrong.map((k) => [x(rowOf[k]), y(before[k]), y(after[k])])));
    add("wrong", dots(at(wrong, before)));
    add("hole", dots(at(wrong, before)));
    add("new", dots(at(wrong, after)));
    if (seen.includes(chosen)) svg.append(make("circle", { class: "ring", cx: x(rowOf[chosen]), cy: y(after[chosen]), r: 8 }));
    if (drag?.moved) svg.append(make("rect", { class: "picked", x: Math.min(drag.from, drag.to), width: Math.abs(drag.to - drag.from), y: top, height: below - top }));
    plot.replaceChildren(svg);
    plot.setAttribute("aria-label",
      `${columns[j].name} from ${nameOf(Math.ceil(Math.max(view[0], 0)))} to ${nameOf(Math.floor(Math.min(view[1], n - 1)))}: ${columns[j].facts}`);
    frame = { x, seen, rowAt: (px) => view[0] + ((px - left) / (right - left)) * (view[1] - view[0]) };
  }

  // Names of rows below the axis, as many as there is room for.
  function nameRows(svg, x, right) {
    const [from, to] = [Math.max(0, Math.ceil(view[0])), Math.min(n - 1, Math.floor(view[1]))];
    const room = 7 * Math.max(...[from, Math.floor((from + to) / 2), to].map((i) => nameOf(i).length)) + 24;
    const most = clamp(Math.floor((right - left) / room), 1, 8);
    for (let k = 0; k < most; k++) {
      const i = Math.round(from + ((k + 0.5) / most) * (to - from)), name = nameOf(i);
      svg.append(make("text", { x: x(i), y: below + 24, "text-anchor": "middle" }, name.length > 40 ? `${name.slice(0, 39)}…` : name));
    }
  }

  // -- pointer and keys -------------------------------------------------------------------

  function tell(k) {
    const gap = isGap(k), why = gap ? "missing" : before[k] > after[k] ? "too high" : "too low";
    return [heading(nameOf(rowOf[k])), pairs([
      ["why", why], ...(gap ? [] : [["value", text(before[k])], ["score", number(score[k])]]),
      [gap ? "filled with" : "replaced by", text(after[k])],
      ["interval", Number.isNaN(lower[k]) ? "–" : `${text(lower[k])} to ${text(upper[k])}`]])];
  }

  function hover(event) {
    const [px] = placeIn(plot, event), { x, seen, rowAt } = frame;
    let best = null, least = Math.max(4, (x(1) - x(0)) / 2);
    for (const k of seen) {
      const away = Math.abs(x(rowOf[k]) - px);
      if (away < least) [best, least] = [k, away];
    }
    const i = step * Math.round(rowAt(px) / step);
    if (best != null) tooltip.show(event.clientX, event.clientY, ...tell(best));
    else if (px < left || i < 0 || i >= n) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, heading(nameOf(i)), pairs([["value", text(lines.row(i / step)[j])]]));
  }
  plot.addEventListener("pointerdown", (event) => {
    const [px] = placeIn(plot, event);
    if (event.button) return;
    drag = { from: px, to: px, moved: false };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    drag.to = placeIn(plot, event)[0];
    drag.moved ||= Math.abs(drag.to - drag.from) > 5;
    tooltip.hide();
    draw();
  });
  plot.addEventListener("pointerup", () => {
    const done = drag;
    drag = null;
    if (done?.moved) look(...[frame.rowAt(done.from), frame.rowAt(done.to)].sort((a, b) => a - b));
  });
  plot.addEventListener("pointercancel", () => { drag = null; draw(); });
  plot.addEventListener("pointerleave", tooltip.hide);
  plot.addEventListener("dblclick", whole);
  onKeys(plot, {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => show(j - 1), ArrowDown: () => show(j + 1),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole, n: () => walk(1), p: () => walk(-1),
  });
  for (const link of document.querySelectorAll("a[data-column]"))
    link.addEventListener("click", () => show(Number(link.dataset.column), link.dataset.row ? Number(link.dataset.row) : null));
  keepDrawn(plot, () => look(...view));
  show(j);
};
