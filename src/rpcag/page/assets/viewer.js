// Samples one by one, each as several panels beside each other, with a slider.

const sample = selectable(0); // also selected in the embedding

widgets.viewer = async (root, data) => {
  const matrices = {};
  for (const [name, packed] of Object.entries(data.matrices)) matrices[name] = await unpack(packed);
  const missing = data.missing ? await unpack(data.missing) : null;
  const n = data.names.length;

  // A panel shows one matrix, or the sum of two.
  const valuesOf = (panel, i) => {
    const rows = panel.parts.map((part) => rowOf(matrices[part], i));
    return rows.length === 1 ? rows[0] : rows[0].map((value, j) => value + rows[1][j]);
  };
  const nameOf = (i) => (/^\d+$/.test(data.names[i]) ? `sample ${data.names[i]}` : data.names[i]);
  const labelOf = (i) => (data.labels ? `label ${data.labels[i]}` : null);
  const lost = (panel, i) => (missing && panel.shows_missing ? rowOf(missing, i) : null);

  const which = make("p", { class: "which", "aria-live": "polite" });
  root.append(which);
  const view = (data.shape ? imageView : profileView)(root, data, valuesOf, lost);
  const track = make("canvas", { "aria-hidden": "true" });
  const slider = make("input", {
    type: "range", min: 0, max: n - 1, value: 0, "aria-label": "sample",
    oninput: () => sample.set(Number(slider.value)),
  });
  const step = (by) => sample.set(clamp(sample.index + by, 0, n - 1));
  if (n > 1)
    root.append(
      make("div", { class: "stepper" }, button("previous", "←", () => step(-1)),
        make("div", { class: "track" }, track, slider), button("next", "→", () => step(1))),
      make("p", { class: "hint" }, "Bars above the slider: how much of each sample is in the sparse part. " +
        "Arrow keys step from sample to sample."));
  root.append(view.after ?? "");

  const show = () => {
    const i = sample.index;
    slider.value = i;
    slider.setAttribute("aria-valuetext", nameOf(i));
    const told = [labelOf(i), `${i + 1} of ${n}`].filter(Boolean);
    which.replaceChildren(nameOf(i), make("span", {}, told.map((part) => ` · ${part}`).join("")));
    view.draw(i);
    if (n > 1) paintTrack(track, data.amount, i);
  };
  keepDrawn(root, show);
  sample.watch(show);
  sample.describe = (i) => [view.thumbs?.(i), heading(nameOf(i)), data.labels ? make("div", {}, labelOf(i)) : null];
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const free = event.target === document.body || event.target.tagName === "BUTTON";
    if (!by || !free || event.ctrlKey || event.altKey || event.metaKey) return;
    step(by);
    event.preventDefault();
  });
};

// How much of every sample there is in the sparse part, above the slider's track.
function paintTrack(canvas, amount, selected) {
  const width = canvas.parentNode.clientWidth, height = 34;
  const context = sized(canvas, width, height);
  const top = Math.max(...amount) || 1;
  const inset = 8; // half of the slider's thumb
  const span = (width - 2 * inset) / (amount.length - 1);
  const bars = new Float32Array(Math.ceil(width)); // the largest at every pixel
  amount.forEach((value, i) => {
    const x = Math.floor(inset + i * span);
    bars[x] = Math.max(bars[x], value);
  });
  const wide = clamp(span * 0.7, 1, 10);
  context.fillStyle = css("--second");
  context.globalAlpha = 0.55;
  bars.forEach((value, x) => {
    const tall = Math.max((value / top) * (height - 3), 1);
    if (value > 0) context.fillRect(x - wide / 2 + 0.5, height - tall, wide, tall);
  });
  context.globalAlpha = 1;
  context.fillStyle = css("--accent");
  context.fillRect(inset + selected * span - 1, 0, 2, height);
}
