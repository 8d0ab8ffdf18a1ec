// Fill the page: every element with data-widget gets what data.widgets holds for it.

setUpTheme();
document.querySelectorAll("table.sortable").forEach(sortable);

// Numbers sort by size, the names in the first column by their letters; empty cells are last.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const keyOf = (cell, j) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    return j ? parseFloat(text.replace("−", "-")) : text;
  };
  heads.forEach((head, j) => {
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = [...body.rows].map((row) => [keyOf(row.cells[j], j), row]);
      keyed.sort(([a], [b]) => {
        const empty = Number.isNaN(a) - Number.isNaN(b);
        return empty || (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
      });
      body.append(...keyed.map(([, row]) => row));
    };
    head.replaceChildren(make("button", { type: "button", class: "sort", onclick: sort }, ...head.childNodes));
  });
}

function sayTrouble(text) {
  const note = document.getElementById("trouble");
  note.textContent = text;
  note.hidden = false;
}

async function fill() {
  const { widgets: all } = JSON.parse(document.getElementById("data").textContent);
  for (const root of document.querySelectorAll("[data-widget]"))
    await widgets[root.dataset.widget](root, all[root.dataset.at]);
  document.documentElement.dataset.ready = "yes";
}

fill().catch((error) => {
  sayTrouble(typeof DecompressionStream === "undefined"
    ? "This browser is too old to draw the pictures: Chrome 123, Safari 17.5, Firefox 120 or newer can."
    : `This page could not be drawn: ${error.message}`);
  throw error;
});
