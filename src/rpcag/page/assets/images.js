// A sample that is an image: a canvas per panel, one pixel each.

function paintImage(canvas, values, shape, table, low, high, lost) {
  const [height, width, channels = 1] = shape;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const scale = 255 / (high - low || 1);
  const amber = rgbOf(css("--missing"));
  for (let k = 0; k < width * height; k++) {
    const at = k * channels;
    let gone = false;
    for (let c = 0; c < channels; c++) gone ||= lost != null && lost[at + c] === 1;
    if (gone) image.data.set(amber, 4 * k);
    else if (channels === 3 && table === null)
      for (let c = 0; c < 3; c++) image.data[4 * k + c] = (values[at + c] - low) * scale;
    else {
      // Of the channels of a signed color image, the one that is furthest out.
      let value = values[at];
      for (let c = 1; c < channels; c++)
        if (Math.abs(values[at + c]) > Math.abs(value)) value = values[at + c];
      const code = clamp(Math.round((value - low) * scale), 0, 255);
      for (let c = 0; c < 3; c++) image.data[4 * k + c] = table[4 * code + c];
    }
    image.data[4 * k + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function imageView(root, data, valuesOf, lost) {
  const color = data.shape.length === 3;
  const tableOf = (panel) =>
    panel.kind === "signed" ? lookup(signed()) : color ? null : lookup(gray);
  const paint = (canvas, panel, i) =>
    paintImage(canvas, valuesOf(panel, i), data.shape, tableOf(panel), panel.low, panel.high,
      panel.shows_missing ? lost(i) : null);

  const grid = make("div", { class: Math.max(...data.shape) < 200 ? "panels pixels" : "panels" });
  const bars = [];
  const canvases = data.panels.map((panel) => {
    const canvas = make("canvas", { role: "img" });
    const bar = make("i");
    bars.push([bar, panel]);
    grid.append(make("figure", {}, make("figcaption", {}, panel.name), canvas,
      make("div", { class: "scale" }, number(panel.low), bar, number(panel.high))));
    return canvas;
  });
  root.append(grid);
  if (data.missing)
    root.append(make("p", { class: "hint" }, make("i", { class: "key" }), "missing in the data"));

  return {
    draw(i) {
      data.panels.forEach((panel, k) => {
        paint(canvases[k], panel, i);
        canvases[k].setAttribute("aria-label", `${panel.name}, ${data.names[i]}`);
      });
      for (const [bar, panel] of bars)
        bar.style.background = gradient(panel.kind === "signed" ? signed() : gray);
    },
    thumbs(i) {
      const line = make("div", { class: "thumbs" });
      for (const panel of data.panels) {
        const canvas = make("canvas");
        paint(canvas, panel, i);
        line.append(canvas);
      }
      return line;
    },
  };
}

// Signed images in a row. data: images (packed), shape, captions.
widgets.gallery = async (root, data) => {
  const matrix = await unpack(data.images);
  const list = make("ul", { class: "gallery" });
  root.append(list);
  const canvases = data.captions.map((caption) => {
    const canvas = make("canvas", { role: "img", "aria-label": caption });
    list.append(make("li", {}, canvas, caption));
    return canvas;
  });
  keepDrawn(root, () => {
    const table = lookup(signed());
    canvases.forEach((canvas, i) => {
      const values = rowOf(matrix, i);
      const [, reach] = aroundZero(values);
      paintImage(canvas, values, data.shape, table, -reach, reach, null);
    });
  });
};
