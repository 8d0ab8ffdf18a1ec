// Fill the page: every element with data-widget gets what data.widgets holds for it.

setUpTheme();
document.querySelectorAll("table.sortable").forEach(sortable);

function sayTrouble(text) {
  const note = document.getElementById("trouble");
  note.textContent = text;
  note.hidden = false;
}

async function fill() {
  if (typeof DecompressionStream === "undefined")
    return sayTrouble("This browser is too old to unpack the pictures: Chrome 80, Safari 16.4, Firefox 113 or newer can.");
  const { widgets: all } = JSON.parse(document.getElementById("data").textContent);
  for (const root of document.querySelectorAll("[data-widget]"))
    await widgets[root.dataset.widget](root, all[root.dataset.at]);
  document.documentElement.dataset.ready = "yes";
}

fill().catch((error) => {
  sayTrouble(`This page could not be drawn: ${error.message}`);
  throw error;
});
