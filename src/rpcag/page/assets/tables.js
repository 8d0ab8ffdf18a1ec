// Tables that sort, and a choice of which to see.

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const valueOf = (row, j) => {
    const cell = row.cells[j];
    const text = cell.dataset.value ?? cell.textContent.trim();
    const found = parseFloat(text.replace("−", "-"));
    return Number.isNaN(found) ? (j ? Infinity : text) : j ? found : text;
  };
  heads.forEach((head, j) => {
    if (!head.textContent) return;
    const button = make("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, j), row]);
      rows.sort(([a], [b]) => {
        if (a === Infinity || b === Infinity) return (a === Infinity) - (b === Infinity); // empty last
        return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

// Of the children of a chooser with some data-of, those of the chosen values are shown.
function chooser(root) {
  const controls = root.querySelectorAll("select[data-for]");
  const show = () => {
    for (const select of controls)
      for (const part of root.querySelectorAll(`[data-${select.dataset.for}]`))
        part.classList.toggle(`not-${select.dataset.for}`,
          part.dataset[select.dataset.for] !== select.value);
    for (const part of root.querySelectorAll("[data-part]"))
      part.hidden = [...part.classList].some((name) => name.startsWith("not-"));
    const colors = root.querySelector("select[data-colors]");
    if (colors) {
      root.classList.remove("by-difference", "by-error");
      if (colors.value) root.classList.add(colors.value);
    }
  };
  root.querySelectorAll(".controls").forEach((part) => { part.hidden = false; });
  root.querySelectorAll("select").forEach((select) => select.addEventListener("change", show));
  show();
}
