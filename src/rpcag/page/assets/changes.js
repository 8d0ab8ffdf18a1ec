// The page of a repaired table: its data, and a map of what was changed.

// Shared by the widgets of the page: data as in repair.py, unpacked; `column` and `cell` are
// selected, `view` has the rows in the column view, and `see` shows a cell there.
const repair = {};
const GAP = "--accent", WRONG = "--second"; // their colors

widgets.changes = async (root, data) => {
  const [filled, replaced, cells, low, high] = await Promise.all(
    [data.map.filled, data.map.replaced, data.cells, data.lines.low, data.lines.high].map((one) => one && unpack(one)));
  const { columns, rows } = data;
  const [row, column, before, after, lower, upper, score] = Array.from({ length: 7 }, (_, k) => rowOf(cells, k));
  const place = rows.at && new Map(rows.at.map((i, k) => [i, k]));
  Object.assign(repair, {
    rows: rows.n, columns, coverage: data.coverage, lines: { edges: data.lines.edges, low, high },
    cells: { row, column, before, after, lower, upper, score, count: cells.p },
    column: selectable(data.first), cell: -1, view: [-0.5, rows.n - 0.5],
    named: rows.at, // rows whose names are here, if not all are
    rowName(i) {
      const name = rows.names?.[place ? place.get(i) : i];
      return name ?? `row ${i}`;
    },
    // A number in the unit of a column, with the digits that its error allows.
    value(scaled, j) {
      if (Number.isNaN(scaled)) return "–";
      return inColumn(columns.center[j] + columns.unit[j] * scaled, j);
    },
    score: (k) => (Math.abs(score[k]) < 1e6 ? score[k].toFixed(1).replace("-", "−") : number(score[k])),
    isGap: (k) => Number.isNaN(before[k]),
    why: (k) => (repair.isGap(k) ? "missing" : before[k] > after[k] ? "too high" : "too low"),
    tell: (k) => [
      heading(`${columns.names[column[k]]}, ${repair.rowName(row[k])}`),
      pairs([
        ["why", repair.why(k)],
        ...(repair.isGap(k) ? [] : [["value", repair.value(before[k], column[k])], ["score", repair.score(k)]]),
        [repair.isGap(k) ? "filled with" : "replaced by", repair.value(after[k], column[k])],
        ["interval", repair.interval(k)]]),
    ],
    interval: (k) => Number.isNaN(lower[k]) ? "–"
      : `${repair.value(lower[k], column[k])} to ${repair.value(upper[k], column[k])}`,
  });
  if (cells.p) changeMap(root, { edges: data.map.edges, filled, replaced });
  document.querySelectorAll("a[data-column]").forEach((link) =>
    link.addEventListener("click", () => repair.column.set(Number(link.dataset.column))));
};

function inColumn(value, j) {
  const digits = repair.columns.digits[j], size = Math.abs(value);
  const text = !Number.isFinite(value) ? (value > 0 ? "∞" : "-∞")
    : digits > 6 || size >= 1e9 ? number(value) : value.toFixed(digits);
  return text.replace(/^-/, "−");
}

// Names of rows below an axis, as many as there is room for.
function rowTicks(from, to, width) {
  const longest = Math.max(...[from, (from + to) / 2, to].map((i) => repair.rowName(Math.round(clamp(i, 0, repair.rows - 1))).length));
  const room = Math.max(longest, repair.named ? 12 : 0) * 6.4 + 24;
  const most = clamp(Math.floor(width / room), 1, 8);
  const first = Math.max(0, Math.ceil(from)), last = Math.min(repair.rows - 1, Math.floor(to));
  if (last <= first || most === 1) return [Math.round((first + last) / 2)];
  const found = (repair.rowName(first).startsWith("row ")
    ? ticks(first, last, most).map(Math.round)
    : Array.from({ length: most }, (_, k) => Math.round(first + ((k + 0.5) / most) * (last - first)))
  ).map((i) => nearestNamed(i)).filter((i) => i >= first && i <= last);
  return [...new Set(found)];
}

function paintRowNames(context, [from, to], x, left, right, y) {
  context.fillStyle = css("--soft");
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const i of rowTicks(from, to, right - left)) {
    const name = shortened(context, repair.rowName(i), right - left);
    const half = context.measureText(name).width / 2;
    context.fillText(name, clamp(x(i), left + half, right - half), y);
  }
}

// The row with a name that is next to row i.
function nearestNamed(i) {
  return repair.named ? repair.named.find((row) => row >= i) ?? repair.named.at(-1) : i;
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && context.measureText(text.slice(0, length) + "…").width > room) length--;
  return text.slice(0, length) + "…";
}

// One lane per column, rows from left to right: gaps in the upper half, wrong cells in the
// lower half, or the whole cell where there is only one kind.
function changeMap(root, { edges, filled, replaced }) {
  const { columns, rows: n } = repair;
  const p = columns.names.length, bins = edges.length - 1;
  const canvas = make("canvas", { tabindex: 0, role: "img",
    "aria-label": `Changes in ${p} columns over ${n} rows. Arrow keys walk over the map, Enter shows a column.` });
  const holder = make("div", { class: "map" }, canvas), axis = make("canvas", { "aria-hidden": "true" });
  const legend = make("ul", { class: "series" });
  root.append(legend, holder, axis);
  let frame = null, cursor = null;

  function cell(b, j) {
    const first = b * frame.merge, last = Math.min(first + frame.merge, bins);
    let gaps = 0, wrong = 0;
    for (let k = first; k < last; k++) {
      gaps += filled.values[k * p + j];
      wrong += replaced.values[k * p + j];
    }
    return { gaps, wrong, from: edges[first], to: edges[last] };
  }

  function layout() {
    const width = holder.clientWidth;
    const context = sized(axis, 10, 10);
    const widest = Math.max(...columns.names.map((name) => context.measureText(name).width));
    const left = Math.min(widest + 12, width * 0.3);
    const tall = p <= 50 ? clamp(Math.floor(600 / p), 14, 18) : clamp(Math.floor(720 / p), 3, 13);
    const plot = width - left - 2;
    const merge = Math.max(1, Math.ceil((1.5 * bins) / plot));
    frame = { width, left, tall, plot, merge, count: Math.ceil(bins / merge), below: p * tall };
    frame.x = (i) => left + (i / n) * plot;
  }

  const draw = keepDrawn(root, () => {
    layout();
    const { width, left, tall, plot, count, below } = frame;
    const context = sized(canvas, width, below + 2);
    const shown = Array.from({ length: count }, (_, b) => Array.from({ length: p }, (_, j) => cell(b, j)));
    const top = { gaps: 0, wrong: 0 };
    for (const { gaps, wrong, from, to } of shown.flat()) {
      top.gaps = Math.max(top.gaps, gaps / (to - from));
      top.wrong = Math.max(top.wrong, wrong / (to - from));
    }
    tellScale(top, shown[0][0]);
    const line = tall > 5 ? 1 : 0; // between lanes
    context.textBaseline = "middle";
    context.textAlign = "right";
    const every = Math.ceil(13 / tall);
    for (let j = 0; j < p; j++) {
      const y = j * tall, alone = columns.notes[j].includes("left alone");
      context.fillStyle = css("--zero");
      context.globalAlpha = alone ? 0.35 : 1;
      context.fillRect(left, y, plot, tall - line);
      context.globalAlpha = 1;
      context.fillStyle = css(j === repair.column.index ? "--ink" : "--soft");
      if (j % every === every >> 1) context.fillText(shortened(context, columns.names[j], left - 8), left - 7, y + tall / 2);
    }
    const colors = { gaps: css(GAP), wrong: css(WRONG) };
    const paint = (kind, share, x, y, wide, high) => {
      context.fillStyle = colors[kind];
      context.globalAlpha = 0.25 + (0.75 * share) / top[kind];
      context.fillRect(x, y, wide, high);
    };
    shown.forEach((lane, b) => lane.forEach(({ gaps, wrong, from, to }, j) => {
      if (!gaps && !wrong) return;
      const x = Math.round(frame.x(from)), wide = Math.max(Math.round(frame.x(to)) - x, 1.5);
      const y = j * tall, high = tall - line, half = Math.ceil(high / 2);
      if (gaps) paint("gaps", gaps / (to - from), x, y, wide, wrong ? half : high);
      if (wrong) paint("wrong", wrong / (to - from), x, gaps ? y + half : y, wide, gaps ? high - half : high);
    }));
    context.globalAlpha = 1;
    paintRowNames(sized(axis, width, 24), [-0.5, n - 0.5], (i) => frame.x(i + 0.5), left, width, 13);
    context.lineWidth = 1.5;
    context.strokeStyle = css("--ink");
    context.strokeRect(left + 0.75, repair.column.index * tall - 0.25, plot - 1.5, tall - line + 0.5);
    if (repair.view[1] - repair.view[0] < n - 0.5) {
      const [a, b] = repair.view.map((i) => frame.x(i + 0.5));
      context.lineWidth = 3;
      context.strokeRect(a, repair.column.index * tall, Math.max(b - a, 2), tall - line);
    }
    if (cursor) {
      const { from, to } = cell(...cursor);
      context.lineWidth = 2;
      context.strokeRect(frame.x(from) - 1, cursor[1] * tall - 1, frame.x(to) - frame.x(from) + 2, tall - line + 2);
    }
  });

  function tellScale(top, { from, to }) {
    const several = to - from > 1;
    const entry = (color, name, share) => make("li", {},
      make("i", { class: "key", style: `background:var(${color})` }),
      several && share ? `${name} (at most ${Math.max(1, Math.round(share * (to - from)))} in ${to - from} rows)` : name);
    legend.replaceChildren(entry(GAP, "gaps filled", top.gaps), entry(WRONG, "wrong cells replaced", top.wrong),
      make("li", {}, "A line per column, rows from left to right. Click a line to see the column."));
  }

  function tell(b, j, x, y) {
    const { gaps, wrong, from, to } = cell(b, j);
    const first = repair.rowName(nearestNamed(from)), last = repair.rowName(nearestNamed(to - 1));
    tooltip.show(x, y,
      heading(columns.names[j]),
      columns.notes[j] ? make("div", {}, columns.notes[j]) : null,
      pairs([...(to - from > 1 ? [["from", first], ["to", last]] : [["row", first]]), ["gaps filled", `${gaps} of ${to - from}`], ["wrong cells replaced", `${wrong} of ${to - from}`]]));
  }

  const leave = () => {
    tooltip.hide();
    if (cursor) {
      cursor = null;
      draw();
    }
  };
  const at = (event) => {
    const [px, py] = placeIn(canvas, event);
    const j = Math.floor(py / frame.tall);
    const i = ((px - frame.left) / frame.plot) * n;
    if (j < 0 || j >= p || i >= n) return null;
    const bin = edges.findIndex((edge) => edge > Math.max(i, 0)) - 1;
    return [Math.max(Math.floor(bin / frame.merge), 0), j, i < 0];
  };
  canvas.addEventListener("pointermove", (event) => {
    const found = at(event);
    canvas.style.cursor = found ? "pointer" : "";
    found && !found[2] ? tell(found[0], found[1], event.clientX, event.clientY) : tooltip.hide();
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("click", (event) => {
    const found = at(event);
    if (found) repair.column.set(found[1]);
  });
  const walk = (bins, lanes) => {
    cursor = cursor
      ? [clamp(cursor[0] + bins, 0, frame.count - 1), clamp(cursor[1] + lanes, 0, p - 1)]
      : [0, repair.column.index];
    draw();
    const box = canvas.getBoundingClientRect(), { from, to } = cell(...cursor);
    tell(...cursor, box.left + frame.x((from + to) / 2), box.top + (cursor[1] + 0.5) * frame.tall);
  };
  onKeys(canvas, {
    ArrowLeft: () => walk(-1, 0), ArrowRight: () => walk(1, 0), ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1),
    Enter: () => cursor && repair.column.set(cursor[1]),
  });
  repair.column.watch((j) => {
    draw();
    const top = j * frame.tall;
    if (top < holder.scrollTop || top + frame.tall > holder.scrollTop + holder.clientHeight)
      holder.scrollTop = top - holder.clientHeight / 2;
  });
  repair.viewed = draw; // the column view shows other rows
}
