// A sample that is an image: a canvas per panel, one pixel each.

// `colors` are those of 256 levels, or null for an image with colors of its own.
function paintImage(canvas, values, shape, colors, low, high, lost) {
  const [height, width, channels = 1] = shape;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const amber = rgbOf(css("--missing"));
  const level = (value) => clamp(Math.round(((value - low) * 255) / (high - low || 1)), 0, 255);
  for (let k = 0; k < width * height; k++) {
    const from = k * channels, pixel = values.subarray(from, from + channels);
    let color;
    if (lost?.subarray(from, from + channels).includes(1)) color = amber;
    else if (!colors) color = pixel.map(level);
    else // of several channels, the one that is furthest out
      color = colors[level(pixel.reduce((far, value) => (Math.abs(value) > Math.abs(far) ? value : far)))];
    image.data.set([...color, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
}

function imageView(root, data, valuesOf, lost) {
  const colorOf = (panel) => (panel.kind === "signed" ? signed() : gray);
  const paint = (canvas, panel, i) => {
    const own = panel.kind !== "signed" && data.shape.length === 3;
    const colors = own ? null : lookup(colorOf(panel));
    paintImage(canvas, valuesOf(panel, i), data.shape, colors, panel.low, panel.high, lost(panel, i));
    return canvas;
  };
  const grid = make("div", { class: Math.max(...data.shape) < 200 ? "panels pixels" : "panels" });
  const shown = data.panels.map((panel) => {
    const canvas = make("canvas", { role: "img" }), bar = make("i");
    grid.append(make("figure", {}, make("figcaption", {}, panel.name), canvas,
      make("div", { class: "scale" }, number(panel.low), bar, number(panel.high))));
    return { panel, canvas, bar };
  });
  root.append(grid);
  if (data.missing)
    root.append(make("p", { class: "hint" }, make("i", { class: "key" }), "missing in the data"));

  return {
    draw(i) {
      for (const { panel, canvas, bar } of shown) {
        paint(canvas, panel, i).setAttribute("aria-label", `${panel.name}, ${data.names[i]}`);
        bar.style.background = gradient(colorOf(panel));
      }
    },
    thumbs: (i) => make("div", { class: "thumbs" }, ...data.panels.map((panel) => paint(make("canvas"), panel, i))),
  };
}

// Signed images in a row. data: images (packed), shape.
widgets.gallery = async (root, data) => {
  const matrix = await unpack(data.images);
  const canvases = Array.from({ length: matrix.n }, (_, k) => make("canvas", { role: "img", "aria-label": `${k + 1}` }));
  root.append(make("ul", { class: "gallery" }, ...canvases.map((canvas, k) => make("li", {}, canvas, `${k + 1}`))));
  keepDrawn(root, () => {
    const colors = lookup(signed());
    canvases.forEach((canvas, i) => {
      const [low, high] = aroundZero(rowOf(matrix, i));
      paintImage(canvas, rowOf(matrix, i), data.shape, colors, low, high, null);
    });
  });
};
