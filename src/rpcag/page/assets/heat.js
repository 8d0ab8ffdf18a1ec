// A map of signed numbers.

// data: x, y (names of columns and rows, from below), values, span (around zero), title,
// x_name, y_name, value_name. Names of x are told by the tooltip.
widgets.heat = (root, data) => {
  const rows = data.y.length, columns = data.x.length;
  const [low, high] = data.span;
  const holder = make("div");
  root.append(make("h3", {}, data.title), holder);
  let cell = null; // of the keyboard

  keepDrawn(root, () => {
    const width = holder.clientWidth, left = 44, top = 6, under = 40;
    const wide = (width - left - 6) / columns, tall = clamp(wide * 0.8, 18, 30);
    const height = top + rows * tall + under;
    const svg = make("svg", {
      width, height, tabindex: 0, role: "img", "aria-label": `${data.title}. Arrow keys walk over the cells.`,
    });
    const color = signed();
    const cellOf = (i, j) => ({ x: left + j * wide, y: top + (rows - 1 - i) * tall });
    const cursor = make("rect", {
      width: wide, height: tall, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden",
    });
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const share = (data.values[i][j] - low) / (high - low || 1);
        svg.append(make("rect", {
          ...cellOf(i, j), width: wide + 0.3, height: tall + 0.3, fill: hexOf(color(share)),
        }));
      }
    data.y.forEach((name, i) =>
      svg.append(make("text", { x: left - 5, y: cellOf(i, 0).y + tall / 2 + 4, "text-anchor": "end" }, name)));
    svg.append(make("text", { x: left + (columns * wide) / 2, y: height - 6, "text-anchor": "middle" }, data.x_name));
    const tell = (i, j, x, y) => {
      const at = cellOf(i, j);
      cursor.setAttribute("x", at.x);
      cursor.setAttribute("y", at.y);
      cursor.setAttribute("visibility", "visible");
      tooltip.show(x, y, pairs([
        [data.y_name, data.y[i]], [data.x_name, data.x[j]],
        [data.value_name, number(data.values[i][j])]]));
    };
    const leave = () => {
      cursor.setAttribute("visibility", "hidden");
      tooltip.hide();
    };
    svg.append(cursor);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left - left) / wide);
      const i = rows - 1 - Math.floor((event.clientY - box.top - top) / tall);
      i >= 0 && i < rows && j >= 0 && j < columns ? tell(i, j, event.clientX, event.clientY) : leave();
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
      if (!by) return;
      event.preventDefault();
      cell = cell ? [clamp(cell[0] + by[0], 0, rows - 1), clamp(cell[1] + by[1], 0, columns - 1)] : [0, 0];
      const box = svg.getBoundingClientRect(), at = cellOf(...cell);
      tell(...cell, box.left + at.x + wide / 2, box.top + at.y + tall / 2);
    });
    holder.replaceChildren(svg);
  });
};
