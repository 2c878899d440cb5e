/** In the page: tokens of each request and the growing cost, as one small drawing. */
import type { Row } from "../export.ts";
import type { Data } from "./data.ts";
import type { View } from "./view.ts";

export function createChart(window: any, data: Data, view: View): void {
  const { document } = window;
  const NS = "http://www.w3.org/2000/svg";
  const WIDTH = 720;
  const HEIGHT = 120;
  const TOP = 8;
  const MAX_POINTS = 240;
  const figure = document.getElementById("chart");
  const plot = document.getElementById("plot");
  const caption = document.getElementById("chart-note");

  interface Point {
    index: number;
    context: number;
    output: number;
    /** up to and including this one */
    cost: number;
  }

  const shape = (tag: string, className: string, attributes: Record<string, string | number>): any => {
    const made = document.createElementNS(NS, tag);
    made.setAttribute("class", className);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    return made;
  };

  /** One point per answer; neighbours share one if there are too many, and the largest request speaks for them. */
  const pointsOf = (path: number[]): Point[] => {
    let cost = 0;
    const all: Point[] = [];
    for (const index of path) {
      const row = data.rows[index] as Row;
      if (!row.u) continue;
      const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0, price = 0] = row.u;
      cost += price;
      if (row.k === "assistant") all.push({ index, context: input + cacheRead + cacheWrite, output, cost });
      else if (all.length > 0) all.at(-1)!.cost = cost;
    }
    const size = Math.ceil(all.length / MAX_POINTS) || 1;
    const points: Point[] = [];
    for (let from = 0; from < all.length; from += size) {
      const group = all.slice(from, from + size);
      const largest = group.reduce((a, b) => (b.context > a.context ? b : a));
      points.push({ ...largest, cost: group.at(-1)!.cost });
    }
    return points;
  };

  const draw = (): void => {
    const points = pointsOf(view.path());
    const maxTokens = Math.max(1, ...points.map(({ context, output }) => context + output));
    const maxCost = points.at(-1)?.cost ?? 0;
    figure.hidden = points.length < 2 || maxTokens <= 1;
    if (figure.hidden) return;
    const x = (position: number) => (position / (points.length - 1)) * WIDTH;
    const y = (share: number) => HEIGHT - share * (HEIGHT - TOP);
    const line = (value: (point: Point) => number) => points.map((point, position) => `${x(position).toFixed(1)},${y(value(point)).toFixed(1)}`).join(" ");
    const svg = shape("svg", "", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
    for (const share of [0.5, 1]) svg.append(shape("line", "grid", { x1: 0, x2: WIDTH, y1: y(share), y2: y(share) }));
    const context = line((point) => point.context / maxTokens);
    svg.append(shape("polygon", "context", { points: `0,${HEIGHT} ${context} ${WIDTH},${HEIGHT}` }));
    // The answer's own tokens lie on top of what was sent.
    const total = line((point) => (point.context + point.output) / maxTokens);
    svg.append(shape("polygon", "output", { points: `${total} ${context.split(" ").reverse().join(" ")}` }));
    if (maxCost > 0) svg.append(shape("polyline", "cost", { points: line(({ cost }) => cost / maxCost) }));
    const cursor = shape("line", "cursor", { x1: 0, x2: 0, y1: 0, y2: HEIGHT, visibility: "hidden" });
    svg.append(cursor);
    plot.replaceChildren(svg);

    const summary = `${points.length} answers; largest request ${view.compact(maxTokens)} tokens${maxCost > 0 ? `; ${view.money(maxCost)} in all` : ""}`;
    let at = -1;
    const select = (position: number): void => {
      at = Math.min(Math.max(position, 0), points.length - 1);
      const point = points[at] as Point;
      for (const name of ["x1", "x2"]) cursor.setAttribute(name, x(at));
      cursor.setAttribute("visibility", "visible");
      const words = [
        `${view.compact(point.context)} tokens in`,
        `${view.compact(point.output)} out`,
        ...(maxCost > 0 ? [`${view.money(point.cost)} so far`] : []),
      ];
      caption.textContent = words.join(" · ");
      plot.setAttribute("aria-valuenow", at + 1);
      plot.setAttribute("aria-valuetext", `Answer ${at + 1}: ${words.join(", ")}`);
    };
    const leave = (): void => {
      cursor.setAttribute("visibility", "hidden");
      caption.textContent = summary;
    };
    const positionOf = (event: any): number => {
      const { left, width } = plot.getBoundingClientRect();
      return Math.round(((event.clientX - left) / width) * (points.length - 1));
    };
    const open = (): void => {
      const point = points[at];
      if (point) window.location.hash = view.hashOf(point.index);
    };
    plot.setAttribute("aria-valuemin", 1);
    plot.setAttribute("aria-valuemax", points.length);
    plot.setAttribute("aria-valuenow", points.length);
    plot.setAttribute("aria-valuetext", summary);
    plot.onpointermove = (event: any) => select(positionOf(event));
    plot.onpointerleave = leave;
    plot.onblur = leave;
    plot.onclick = (event: any) => {
      select(positionOf(event));
      open();
    };
    plot.onkeydown = (event: any) => {
      const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowUp: at + 1, Home: 0, End: points.length - 1 };
      if (event.key in steps) {
        event.preventDefault();
        select(steps[event.key] as number);
      }
      if (event.key === "Enter") open();
    };
    leave();
  };

  view.onPath(draw);
}
