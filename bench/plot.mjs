/** Growth curves as small SVG files: CPU against the number of deltas, both logarithmic. */
const colors = ["#0b6bcb", "#c2410c", "#15803d", "#7e22ce"];
const [width, height, left, bottom] = [560, 320, 56, 40];

export function plot(results) {
  return [
    ["performance-delta.svg", "deltas, delta", "Text stream, delta updates"],
    ["performance-full.svg", "deltas, full", "Text stream, full updates"],
    ["performance-arguments.svg", "argument deltas, delta", "Tool arguments, delta updates"],
  ].flatMap(([file, kind, title]) => {
    const series = Object.entries(results).flatMap(([name, numbers]) => {
      const points = Object.entries(numbers).flatMap(([label, value]) => {
        const size = new RegExp(`^(\\d+) ${kind}: CPU`).exec(label)?.[1];
        return size ? [[Number(size), Math.max(value, 1)]] : [];
      });
      return points.length > 0 ? [{ name, points: points.sort((a, b) => a[0] - b[0]) }] : [];
    });
    return series.length > 0 ? [[file, draw(title, series)]] : [];
  });
}

function draw(title, series) {
  const all = series.flatMap(({ points }) => points);
  const x = scale(
    all.map(([size]) => size),
    left,
    width - 110,
  );
  const y = scale(
    all.map(([, cpu]) => cpu),
    height - bottom,
    34,
  );
  const lines = series.map(({ name, points }, index) => {
    const color = colors[index % colors.length];
    const at = points.map(([size, cpu]) => [x(size).toFixed(1), y(cpu).toFixed(1)]);
    const [endX, endY] = at.at(-1);
    const dots = at.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`).join("");
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${at.map((point) => point.join(",")).join(" ")}"/>${dots}<text x="${Number(endX) + 8}" y="${Number(endY) + 4}" fill="${color}">${name}</text>`;
  });
  const sizes = [...new Set(all.map(([size]) => size))].map(
    (size) => `<text x="${x(size).toFixed(1)}" y="${height - 20}" text-anchor="middle">${size.toLocaleString("en")}</text>`,
  );
  const ticks = [1, 10, 100, 1000, 10_000, 100_000]
    .filter((tick) => tick >= Math.min(...all.map(([, cpu]) => cpu)) && tick <= Math.max(...all.map(([, cpu]) => cpu)))
    .map(
      (tick) =>
        `<path d="M${left} ${y(tick).toFixed(1)}H${width - 110}" stroke="#ddd"/><text x="${left - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${tick.toLocaleString("en")}</text>`,
    );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}"><rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="18" font-weight="bold">${title}: CPU in ms by number of deltas</text>${ticks.join("")}${sizes.join("")}${lines.join("")}</svg>\n`;
}

/** A logarithmic scale from data to pixels. */
function scale(values, from, to) {
  const [low, high] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  return (value) => from + ((Math.log(value) - low) / (high - low || 1)) * (to - from);
}
