// Colors that people who do not tell red from green can tell apart.

// Paul Tol's "bright"; classes also differ by shape.
const CLASSES = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8c8c8c"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const classColor = (k) => CLASSES[k % CLASSES.length];
const classShape = (k) => SHAPES[k % SHAPES.length];

// From "#4477aa" or "rgb(68, 119, 170)" to numbers.
const rgbOf = (color) => color.startsWith("#")
  ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16))
  : color.match(/\d+/g).slice(0, 3).map(Number);

function ramp(colors) {
  const stops = colors.map(rgbOf);
  return (share) => {
    const at = clamp(share, 0, 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((c, i) => Math.round(c + (at - k) * (stops[k + 1][i] - c)));
  };
}

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
const gray = ramp(["#000000", "#ffffff"]);

// The colors of 256 levels.
const lookup = (color) => Array.from({ length: 256 }, (_, k) => color(k / 255));

function gradient(color) {
  const stops = Array.from({ length: 11 }, (_, k) => `rgb(${color(k / 10)})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

// -- shapes, on a canvas and in SVG -----------------------------------------------------

const CORNERS = {
  triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
};

function drawShape(context, shape, x, y, r) {
  context.beginPath();
  if (shape === "circle") context.arc(x, y, r, 0, 2 * Math.PI);
  else for (const [a, b] of CORNERS[shape]) context.lineTo(x + a * r, y + b * r);
  context.closePath();
}

function svgShape(shape, x, y, r, attributes) {
  if (shape === "circle") return make("circle", { cx: x, cy: y, r, ...attributes });
  const points = CORNERS[shape].map(([a, b]) => `${x + a * r},${y + b * r}`);
  return make("polygon", { points: points.join(" "), ...attributes });
}

const swatch = (k) => make("svg", { width: 14, height: 14, "aria-hidden": "true" },
  svgShape(classShape(k), 7, 7, 5, { fill: classColor(k) }));
