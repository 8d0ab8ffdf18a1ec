// Points in two or three dimensions: drag turns (or moves), the wheel zooms.

const START = { yaw: 0.6, pitch: 0.45, zoom: 1, dx: 0, dy: 0 };

// The view of some clouds; those that share a camera turn together.
function makeCamera() {
  const watchers = [];
  return {
    ...START,
    watch(watcher) { watchers.push(watcher); },
    change(by) {
      Object.assign(this, by);
      this.pitch = clamp(this.pitch, -1.5, 1.5);
      this.zoom = clamp(this.zoom, 0.3, 40);
      watchers.forEach((watcher) => watcher());
    },
  };
}

// Center, and a radius that a few far points do not decide.
function frameCloud(matrix, axes) {
  const center = axes.map((a) => {
    let sum = 0;
    for (let i = 0; i < matrix.n; i++) sum += matrix.values[i * matrix.p + a];
    return sum / matrix.n;
  });
  const radii = Array.from({ length: matrix.n }, (_, i) =>
    Math.hypot(...axes.map((a, k) => matrix.values[i * matrix.p + a] - center[k])));
  radii.sort((a, b) => a - b);
  return { center, radius: radii[Math.floor(0.98 * (matrix.n - 1))] || radii.at(-1) || 1 };
}

function cloud(canvas, { matrix, axes, camera, mark, selected, height, frame, hover, pick, name }) {
  const context = canvas.getContext("2d");
  let places = new Float32Array(0);
  let state = { axes, frame: frame(axes) };

  function project(x, y, z, width, tall) {
    const flat = state.axes.length < 3;
    const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw);
    const cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    const right = flat ? x : cy * x + sy * z;
    const away = flat ? 0 : -sy * x + cy * z;
    const up = flat ? y : cp * y - sp * away;
    const depth = flat ? 0 : sp * y + cp * away;
    const size = 0.42 * Math.min(width, tall) * camera.zoom;
    return [width / 2 + camera.dx + size * right, tall / 2 + camera.dy - size * up, depth];
  }

  function draw() {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, tall = height(width);
    if (!width) return;
    canvas.style.height = `${tall}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, tall);
    const { center, radius } = state.frame;
    drawAxes(width, tall);
    const n = matrix.n;
    places = new Float32Array(3 * n);
    for (let i = 0; i < n; i++) {
      const at = (k) => state.axes[k] == null ? 0 :
        (matrix.values[i * matrix.p + state.axes[k]] - center[k]) / radius;
      places.set(project(at(0), at(1), at(2), width, tall), 3 * i);
    }
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    if (state.axes.length > 2) order.sort((a, b) => places[3 * b + 2] - places[3 * a + 2]);
    const r = n > 2000 ? 2.2 : n > 400 ? 3 : width < 220 ? 3.5 : 4.5;
    for (const i of order) {
      const { color, shape, faint } = mark(i);
      const near = clamp(0.5 - places[3 * i + 2] / 3, 0, 1);
      context.globalAlpha = faint ? 0.08 : state.axes.length > 2 ? 0.45 + 0.5 * near : 0.85;
      context.fillStyle = color;
      drawShape(context, shape, places[3 * i], places[3 * i + 1], r * (0.85 + 0.3 * near));
      context.fill();
    }
    context.globalAlpha = 1;
    const chosen = selected();
    if (chosen != null) {
      for (const [color, wide] of [[css("--paper"), 5], [css("--ink"), 2]]) {
        context.strokeStyle = color;
        context.lineWidth = wide;
        context.beginPath();
        context.arc(places[3 * chosen], places[3 * chosen + 1], r + 4.5, 0, 2 * Math.PI);
        context.stroke();
      }
    }
  }

  function drawAxes(width, tall) {
    context.strokeStyle = css("--line");
    context.fillStyle = css("--soft");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineWidth = 1;
    state.axes.forEach((axis, k) => {
      const ends = [-1.08, 1.08].map((t) => project(...[0, 1, 2].map((c) => (c === k ? t : 0)), width, tall));
      context.beginPath();
      context.moveTo(ends[0][0], ends[0][1]);
      context.lineTo(ends[1][0], ends[1][1]);
      context.stroke();
      if (width >= 220)
        context.fillText(name(axis), clamp(ends[1][0], 40, width - 40), clamp(ends[1][1] - 5, 12, tall - 6));
    });
  }

  const later = keepDrawn(canvas, draw);
  camera.watch(later);

  function nearest(x, y) {
    let best = null, least = 14 ** 2;
    for (let i = 0; i < matrix.n; i++) {
      if (mark(i).faint) continue;
      const away = (places[3 * i] - x) ** 2 + (places[3 * i + 1] - y) ** 2;
      if (away < least) [best, least] = [i, away];
    }
    return best;
  }

  function move(dx, dy) {
    if (state.axes.length > 2)
      camera.change({ yaw: camera.yaw + 0.01 * dx, pitch: camera.pitch + 0.01 * dy });
    else camera.change({ dx: camera.dx + dx, dy: camera.dy + dy });
  }

  // -- pointer: one turns, two pinch
  const down = new Map();
  let traveled = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    canvas.setPointerCapture(event.pointerId);
    traveled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) {
      const box = canvas.getBoundingClientRect();
      const i = nearest(event.clientX - box.left, event.clientY - box.top);
      canvas.style.cursor = i == null ? "" : "pointer";
      i == null ? tooltip.hide() : tooltip.show(event.clientX, event.clientY, ...hover(i));
      return;
    }
    tooltip.hide();
    const dx = event.clientX - before.x, dy = event.clientY - before.y;
    const was = down.size === 2 ? spread() : 0;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    traveled += Math.abs(dx) + Math.abs(dy);
    if (down.size === 2) camera.change({ zoom: (camera.zoom * spread()) / (was || 1) });
    else move(dx, dy);
  });
  canvas.addEventListener("pointerup", (event) => {
    down.delete(event.pointerId);
    if (traveled > 6) return;
    const box = canvas.getBoundingClientRect();
    const i = nearest(event.clientX - box.left, event.clientY - box.top);
    if (i == null) return;
    pick(i);
    tooltip.show(event.clientX, event.clientY, ...hover(i));
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", tooltip.hide);
  canvas.addEventListener("dblclick", () => camera.change(START));
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls over a cloud that nobody has touched.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    camera.change({ zoom: camera.zoom * Math.exp(-0.0015 * event.deltaY) });
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const act = {
      ArrowLeft: () => move(-12, 0), ArrowRight: () => move(12, 0),
      ArrowUp: () => move(0, -12), ArrowDown: () => move(0, 12),
      "+": () => camera.change({ zoom: camera.zoom * 1.25 }),
      "=": () => camera.change({ zoom: camera.zoom * 1.25 }),
      "-": () => camera.change({ zoom: camera.zoom / 1.25 }),
      0: () => camera.change(START),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  return {
    redraw: later,
    place: (i) => [places[3 * i], places[3 * i + 1]],
    setAxes(axes) { state = { axes, frame: frame(axes) }; later(); },
  };
}
