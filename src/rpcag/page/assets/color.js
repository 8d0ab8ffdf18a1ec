// Colors that people who do not tell red from green can tell apart.

// Paul Tol's "bright"; classes also differ by shape.
const CLASSES = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8c8c8c"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const classColor = (k) => CLASSES[k % CLASSES.length];
const classShape = (k) => SHAPES[k % SHAPES.length];

const rgbOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function ramp(colors) {
  const stops = colors.map(rgbOf);
  return (share) => {
    const at = clamp(share, 0, 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((c, i) => Math.round(c + (at - k) * (stops[k + 1][i] - c)));
  };
}

const hexOf = (rgb) => "#" + rgb.map((c) => c.toString(16).padStart(2, "0")).join("");

// Cividis, from low to high; on dark ground its dark end is lighter.
const RAMPS = {
  light: ramp([
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
    "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
  ]),
  dark: ramp(["#3f6fc4", "#5f7bb0", "#7d8797", "#97927c", "#b5a76f", "#d3bf5f", "#fee838"]),
};
const sequential = () => RAMPS[isDark() ? "dark" : "light"];
// Signed values around nothing, by the theme.
const signed = () => ramp([css("--low"), css("--zero"), css("--high")]);

// One 256-entry table of colors, 4 bytes each.
function lookup(color) {
  const table = new Uint8ClampedArray(1024);
  for (let k = 0; k < 256; k++) {
    table.set(color(k / 255), 4 * k);
    table[4 * k + 3] = 255;
  }
  return table;
}
const gray = (share) => [0, 0, 0].fill(Math.round(255 * clamp(share, 0, 1)));

function gradient(color) {
  const stops = Array.from({ length: 11 }, (_, k) => hexOf(color(k / 10)));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function drawShape(context, shape, x, y, r) {
  context.beginPath();
  if (shape === "square") context.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  else if (shape === "triangle") {
    context.moveTo(x, y - 1.2 * r);
    context.lineTo(x + 1.1 * r, y + 0.8 * r);
    context.lineTo(x - 1.1 * r, y + 0.8 * r);
    context.closePath();
  } else if (shape === "diamond") {
    context.moveTo(x, y - 1.25 * r);
    context.lineTo(x + 1.25 * r, y);
    context.lineTo(x, y + 1.25 * r);
    context.lineTo(x - 1.25 * r, y);
    context.closePath();
  } else context.arc(x, y, r, 0, 2 * Math.PI);
}

function svgShape(shape, x, y, r, attributes) {
  const corners = {
    triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
    diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  }[shape];
  if (!corners) return make("circle", { cx: x, cy: y, r, ...attributes });
  const points = corners.map(([a, b]) => `${(x + a * r).toFixed(1)},${(y + b * r).toFixed(1)}`);
  return make("polygon", { points: points.join(" "), ...attributes });
}

const swatch = (k) => make("svg", { width: 14, height: 14, "aria-hidden": "true" },
  svgShape(classShape(k), 7, 7, 5, { fill: classColor(k) }));
