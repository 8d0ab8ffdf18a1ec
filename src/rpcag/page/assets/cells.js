// The changed cells of a table, some at a time: sorted, and those of one kind or column.

const CELLS_AT_A_TIME = 20;

widgets.cells = (root) => {
  const { columns, cells } = repair;
  const KINDS = {
    all: ["all changes", () => true],
    gaps: ["gaps", repair.isGap],
    wrong: ["wrong cells", (k) => !repair.isGap(k)],
    high: ["too high", (k) => repair.why(k) === "too high"],
    low: ["too low", (k) => repair.why(k) === "too low"],
  };
  // Name, number to sort by, and text.
  const FIELDS = [
    ["row", (k) => cells.row[k], (k) => repair.rowName(cells.row[k])],
    ["column", (k) => cells.column[k], (k) => columns.names[cells.column[k]]],
    ["value", (k) => inUnit(cells.before[k], k), (k) => repair.value(cells.before[k], cells.column[k])],
    ["replaced by", (k) => inUnit(cells.after[k], k), (k) => repair.value(cells.after[k], cells.column[k])],
    [`${repair.coverage} interval`, (k) => cells.upper[k] - cells.lower[k], repair.interval],
    ["score", (k) => Math.abs(cells.score[k]), repair.score],
    ["why", (k) => ["missing", "too high", "too low"].indexOf(repair.why(k)), repair.why],
  ];
  function inUnit(value, k) {
    return columns.center[cells.column[k]] + columns.unit[cells.column[k]] * value;
  }
  const WORDS = new Set([0, 1, 6]);
  let sort = { field: 5, up: false }, page = 0, order = [];

  const option = (value, text) => make("option", { value }, text);
  const kind = make("select", { onchange: () => show(true) }, ...Object.entries(KINDS).map(([key, [name]]) => option(key, name)));
  const column = make("select", { onchange: () => show(true) }, option("", "all columns"),
    ...columns.names.map((name, j) => option(j, name)));
  const search = make("input", { type: "search", placeholder: "part of a name", oninput: () => show(true) });
  const controls = make("div", { class: "controls" },
    make("label", {}, "show", kind), make("label", {}, "in", column), make("label", {}, "row", search));
  const heads = FIELDS.map(([name], f) => make("th", { scope: "col", class: WORDS.has(f) ? "words" : false },
    make("button", { type: "button", class: "sort", onclick: () => {
      sort = { field: f, up: sort.field === f ? !sort.up : f < 2 };
      show(true);
    } }, name)));
  const body = make("tbody");
  const told = make("span", { "aria-live": "polite" });
  const turn = (by) => { page += by; show(false); };
  const back = button("previous cells", "←", () => turn(-1)), on = button("next cells", "→", () => turn(1));
  root.append(controls,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "changed cells" },
      make("table", { class: "cells" }, make("thead", {}, make("tr", {}, ...heads)), body)),
    make("div", { class: "controls" }, make("span", { class: "buttons" }, back, on), told));

  function show(anew) {
    if (anew) {
      page = 0;
      const [, wanted] = KINDS[kind.value];
      const part = search.value.trim().toLowerCase();
      const [, by] = FIELDS[sort.field];
      order = [];
      for (let k = 0; k < cells.count; k++)
        if (wanted(k) && (column.value === "" || cells.column[k] === Number(column.value))
          && (!part || repair.rowName(cells.row[k]).toLowerCase().includes(part))) order.push(k);
      const keys = Float64Array.from({ length: cells.count }, (_, k) => by(k));
      order.sort((a, b) => {
        const none = Number.isNaN(keys[a]) - Number.isNaN(keys[b]); // always last
        return none || (sort.up ? keys[a] - keys[b] : keys[b] - keys[a]) || a - b;
      });
      heads.forEach((head, f) =>
        f === sort.field ? head.setAttribute("aria-sort", sort.up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    }
    const from = page * CELLS_AT_A_TIME, shown = order.slice(from, from + CELLS_AT_A_TIME);
    body.replaceChildren(...shown.map(line));
    told.textContent = order.length
      ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ${order.length.toLocaleString("en")}`
      : "No changed cell is like this.";
    back.disabled = page === 0;
    on.disabled = from + CELLS_AT_A_TIME >= order.length;
  }

  function line(k) {
    const [row, ...rest] = FIELDS.map(([, , text]) => text(k));
    const link = make("a", { href: "#column", onclick: () => repair.see(k) }, row);
    const kind = make("i", { class: "key", style: `background:var(${repair.isGap(k) ? GAP : WRONG})` });
    return make("tr", {}, make("th", { scope: "row" }, link),
      ...rest.map((text, f) => make("td", { class: WORDS.has(f + 1) ? "words" : false }, f === 5 ? kind : null, text)));
  }
  show(true);
};
