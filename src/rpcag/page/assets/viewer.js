// Samples one by one, each as several panels beside each other, with a slider.

widgets.viewer = async (root, data) => {
  const matrices = {};
  for (const [name, packed] of Object.entries(data.matrices)) matrices[name] = await unpack(packed);
  const missing = data.missing ? await unpack(data.missing) : null;
  const selection = selectionOf(data.group);
  const n = data.names.length;

  // A panel shows one matrix, or the sum of several.
  const valuesOf = (panel, i) => {
    const rows = panel.parts.map((part) => rowOf(matrices[part], i));
    return rows.length === 1 ? rows[0] : rows[0].map((value, j) => value + rows[1][j]);
  };
  const nameOf = (i) => (/^\d+$/.test(data.names[i]) ? `${data.what} ${data.names[i]}` : data.names[i]);
  const labelOf = (i) => `label ${data.labels[i]}`;
  const lost = (i) => (missing ? rowOf(missing, i) : null);
  const view = (data.shape ? imageView : profileView)(root, data, valuesOf, lost);

  const which = make("p", { class: "which", "aria-live": "polite" });
  const track = make("canvas", { "aria-hidden": "true" });
  const slider = make("input", {
    type: "range", min: 0, max: Math.max(n - 1, 0), value: 0, "aria-label": data.what,
    oninput: () => selection.set(Number(slider.value)),
  });
  const step = (by) => selection.set(clamp(selection.index + by, 0, n - 1));
  const stepper = make("div", { class: "stepper" },
    make("button", { type: "button", "aria-label": "previous", onclick: () => step(-1) }, "←"),
    make("div", { class: "track" }, data.amount ? track : null, slider),
    make("button", { type: "button", "aria-label": "next", onclick: () => step(1) }, "→"));
  const hint = data.amount
    ? make("p", { class: "hint" }, data.amount_is)
    : null;
  root.prepend(which);
  root.append(...(n > 1 ? [stepper, hint].filter(Boolean) : []), view.after ?? "");

  const drawTrack = keepDrawn(root, () => {
    if (data.amount && n > 1) paintTrack(track, data.amount, selection.index);
  });
  const show = () => {
    const i = selection.index;
    slider.value = i;
    slider.setAttribute("aria-valuetext", nameOf(i));
    const label = data.labels ? ` · ${labelOf(i)}` : "";
    which.replaceChildren(nameOf(i),
      make("span", {}, `${label} · ${i + 1} of ${n}`));
    view.draw(i);
    drawTrack();
  };
  selection.watch(show);
  document.addEventListener("theme", show);
  selection.describe = (i) => [
    view.thumbs?.(i),
    make("div", { class: "name" }, nameOf(i)),
    data.labels ? make("div", {}, labelOf(i)) : null,
  ];
  if (data.group)
    document.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const free = event.target === document.body || event.target.tagName === "BUTTON";
      if (!by || !free || event.ctrlKey || event.altKey || event.metaKey) return;
      step(by);
      event.preventDefault();
    });
  show();
};

// How much there is of something in every sample, above the slider's track.
function paintTrack(canvas, amount, selected) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = 34;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const top = Math.max(...amount) || 1;
  const inset = 8; // half of the slider's thumb
  const span = (width - 2 * inset) / Math.max(amount.length - 1, 1);
  const bars = new Float32Array(Math.ceil(width));
  amount.forEach((value, i) => {
    const x = Math.floor(inset + i * span);
    if (x < bars.length) bars[x] = Math.max(bars[x], value);
  });
  const wide = Math.max(1, Math.min(span * 0.7, 10));
  context.fillStyle = css("--second");
  context.globalAlpha = 0.55;
  bars.forEach((value, x) => {
    const tall = (value / top) * (height - 3);
    if (value > 0) context.fillRect(x - wide / 2 + 0.5, height - Math.max(tall, 1), wide, Math.max(tall, 1));
  });
  context.globalAlpha = 1;
  context.fillStyle = css("--accent");
  context.fillRect(inset + selected * span - 1, 0, 2, height);
}
