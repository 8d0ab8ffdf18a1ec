// Fill the page: every element with data-widget gets what data.widgets holds for it.

// A click on a heading sorts: numbers by size, words by their letters, empty cells last.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const wordOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const numberOf = (word) => parseFloat(word.replace("−", "-").replaceAll(",", ""));
  heads.forEach((head, j) => {
    const sort = () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const keyed = [...body.rows].map((row) => {
        const word = wordOf(row.cells[j]);
        return [j ? numberOf(word) : NaN, word, row];
      });
      const isEmpty = ([size, word]) => Number.isNaN(size) && (word === "" || word === "–");
      keyed.sort((a, b) => isEmpty(a) - isEmpty(b)
        || way * (a[0] - b[0] || a[1].localeCompare(b[1], "en", { numeric: true })));
      body.append(...keyed.map(([, , row]) => row));
    };
    head.replaceChildren(make("button", { type: "button", class: "sort", onclick: sort }, ...head.childNodes));
  });
}

async function fill() {
  document.querySelectorAll("table.sortable").forEach(sortable);
  const { widgets: all } = JSON.parse(document.getElementById("data").textContent);
  for (const root of document.querySelectorAll("[data-widget]"))
    await widgets[root.dataset.widget](root, all[root.dataset.at]);
  document.documentElement.dataset.ready = "yes";
}

fill().catch((error) => {
  const note = document.getElementById("trouble");
  note.hidden = false;
  note.textContent = typeof DecompressionStream === "undefined"
    ? "This browser is too old to draw the pictures: Chrome 123, Safari 17.5, Firefox 120 or newer can."
    : `This page could not be drawn: ${error.message}`;
  throw error;
});
