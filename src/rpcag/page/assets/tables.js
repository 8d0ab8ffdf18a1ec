// Tables that sort.

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
