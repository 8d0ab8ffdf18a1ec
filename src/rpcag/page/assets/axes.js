// Ranges and round numbers for axes.

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  return [low - 0.04 * (high - low), high + 0.04 * (high - low)];
}

function aroundZero(values) {
  let top = 0;
  for (const value of values) top = Math.max(top, Math.abs(value));
  return [-1.05 * (top || 1), 1.05 * (top || 1)];
}

// About so many round numbers between two.
function ticks(low, high, about = 5) {
  const rough = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough * 0.99);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// Powers of ten, and where there are few of them 2 and 5 times these.
function logTicks(low, high, most = 6) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const every = Math.ceil((last - first) / most);
  const found = [];
  for (let k = first; k <= last; k += every)
    for (const m of last - first <= 2 ? [1, 2, 5] : [1])
      if (m * 10 ** k >= low * 0.999 && m * 10 ** k <= high * 1.001) found.push(m * 10 ** k);
  return found;
}

function scaleOf(kind, [low, high], from, to) {
  const f = kind === "log" ? Math.log10 : (value) => value;
  const a = f(low), b = f(high);
  return (value) => from + ((f(value) - a) / (b - a || 1)) * (to - from);
}
