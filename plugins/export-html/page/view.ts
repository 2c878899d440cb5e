/** In the page: the conversation along one branch. Only what is near the window exists as elements. */
import type { Row } from "../export.ts";
import type { Data } from "./data.ts";

export type View = ReturnType<typeof createView>;

export function createView(window: any, data: Data) {
  const { document, IntersectionObserver, requestAnimationFrame } = window;
  const PER_STRETCH = 24;
  const MAX_FILLED = 40;
  const ESTIMATED_HEIGHT = 140;
  const names: Record<string, string> = { user: "You", assistant: "Assistant", bash: "Shell", custom: "Extension", compaction: "Compaction", branch: "Branch" };
  const { rows } = data;

  /** One block of the conversation: an entry with what belongs to it, as tool results to their calls. */
  interface Unit {
    main: number;
    others: number[];
    /** this unit is one of several continuations */
    choice?: { parent: number; chosen: number };
  }
  interface Stretch {
    element: any;
    units: Unit[];
    isFilled: boolean;
  }

  const container = document.getElementById("conversation");
  const pathListeners: (() => void)[] = [];
  const currentListeners: ((index: number) => void)[] = [];
  let path: number[] = [];
  let stretches: Stretch[] = [];
  let filled: Stretch[] = [];
  let hidden = new Set<number>();
  /** where an entry is shown */
  let places = new Map<number, Stretch>();
  /** undefined: each fold as it came */
  let allOpen: boolean | undefined;

  const element = (tag: string, className?: string, text?: string): any => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const parse = (html: string): any => {
    const template = element("template");
    template.innerHTML = html;
    return template.content;
  };
  const idOf = (index: number) => `e-${rows[index]!.i}`;
  const hashOf = (index: number) => `#e-${encodeURIComponent(rows[index]!.i)}`;
  const compact = (value: number): string => {
    if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
    if (value >= 1e4) return `${Math.round(value / 1e3)}k`;
    return value >= 1e3 ? `${(value / 1e3).toFixed(1)}k` : String(Math.round(value));
  };
  const money = (value: number) => (value >= 1 || value === 0 ? `$${value.toFixed(2)}` : value >= 0.01 ? `$${value.toFixed(3)}` : `$${value.toFixed(4)}`);

  // ------------------------------------------------------------ units

  const unitsOf = (indices: number[]): Unit[] => {
    const units: Unit[] = [];
    let choice: Unit["choice"];
    for (const index of indices) {
      const row = rows[index] as Row;
      const siblings = data.childrenOf(row.p);
      if (siblings.length > 1 && siblings.includes(index)) choice = { parent: row.p, chosen: index };
      if (!data.isShown(index)) continue;
      const before = units.at(-1);
      const joins = before && !choice && ((row.k === "tool" && rows[before.main]!.k === "assistant") || (row.k === "note" && rows[before.main]!.k === "note"));
      if (joins) before.others.push(index);
      else {
        units.push({ main: index, others: [], ...(choice && { choice }) });
        choice = undefined;
      }
    }
    return units;
  };

  // ------------------------------------------------------------ elements

  const timeElement = (time: number): any => {
    const made = element("time", undefined, new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
    made.dateTime = new Date(time).toISOString();
    made.title = new Date(time).toLocaleString();
    return made;
  };

  const usageText = (row: Row): string => {
    if (!row.u) return "";
    const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cost = 0] = row.u;
    return [`${compact(input + cacheRead + cacheWrite)} in`, `${compact(output)} out`, ...(cost > 0 ? [money(cost)] : [])].join(" · ");
  };

  const headerOf = (index: number, isFollowing: boolean): any => {
    const row = rows[index] as Row;
    const header = element("header");
    if (!isFollowing) header.append(element("span", "who", names[row.k] ?? row.k));
    if (row.m !== undefined && !isFollowing) header.append(element("span", "model", data.meta.models[row.m]));
    if (row.l) header.append(element("span", "label", row.l));
    if (hidden.has(index)) header.append(element("span", "badge", "taken out of the context"));
    const right = element("span", "right");
    const link = element("a", "anchor", "#");
    link.href = hashOf(index);
    link.setAttribute("aria-label", `Link to this message: ${row.s ?? row.k}`);
    const usage = usageText(row);
    right.append(link, ...(usage ? [element("span", "usage", usage)] : []), ...(row.t ? [timeElement(row.t)] : []));
    header.append(right);
    return header;
  };

  const choiceOf = ({ parent, chosen }: NonNullable<Unit["choice"]>): any => {
    const siblings = data.childrenOf(parent);
    const at = siblings.indexOf(chosen);
    const bar = element("nav", "choice");
    bar.setAttribute("aria-label", "Branches from here");
    const step = (label: string, text: string, target: number | undefined) => {
      const link = element(target === undefined ? "span" : "a", "step", text);
      if (target === undefined) link.setAttribute("aria-hidden", "true");
      else {
        link.href = hashOf(firstShown(target));
        link.setAttribute("aria-label", label);
      }
      return link;
    };
    bar.append(step("Previous branch", "‹", siblings[at - 1]));
    bar.append(element("span", undefined, `Branch ${at + 1} of ${siblings.length}`));
    bar.append(step("Next branch", "›", siblings[at + 1]));
    return bar;
  };

  /** The first entry to see at or below a position. */
  const firstShown = (index: number): number => {
    let at = index;
    while (!data.isShown(at) && data.childrenOf(at).length > 0) at = data.childrenOf(at)[0] as number;
    return at;
  };

  const addResult = (body: any, index: number): void => {
    const row = rows[index] as Row;
    const output = element("div", row.e ? "result failed" : "result");
    output.id = idOf(index);
    output.append(parse(data.html(row)));
    const call = [...body.querySelectorAll("details[data-call]")].find((fold: any) => fold.dataset.call === row.f);
    if (!call) {
      body.append(orphanFold(row, output));
      return;
    }
    if (output.querySelector(".diff")) call.querySelector(".wanted")?.remove();
    call.lastChild.append(output);
    if (row.e) call.classList.add("failed");
    const stat = row.e ? `failed${row.z ? ` · ${row.z}` : ""}` : row.z;
    if (stat) call.firstChild.append(element("span", "stat", stat));
  };

  /** A result whose call is not on this page. */
  const orphanFold = (row: Row, output: any): any => {
    const fold = parse('<details class="tool"><summary><span class="tool-name"></span></summary><div class="tool-body"></div></details>').firstChild;
    fold.querySelector(".tool-name").textContent = row.s ?? "tool";
    fold.lastChild.append(output);
    return fold;
  };

  const articleOf = (unit: Unit, isFollowing: boolean): any => {
    const row = rows[unit.main] as Row;
    const article = element("article", `entry ${row.k}${hidden.has(unit.main) ? " out" : ""}${isFollowing ? " following" : ""}`);
    article.id = idOf(unit.main);
    article.dataset.index = unit.main;
    article.tabIndex = -1;
    const body = element("div", "body");
    if (row.k === "tool") body.append(orphanFold(row, parse(data.html(row))));
    else body.append(parse(data.html(row)));
    for (const index of unit.others) {
      if (rows[index]!.k === "tool") addResult(body, index);
      else body.append(parse(data.html(rows[index] as Row)));
    }
    if (row.k !== "note") article.append(headerOf(unit.main, isFollowing));
    article.append(body);
    if (allOpen !== undefined) for (const fold of body.querySelectorAll("details")) fold.open = allOpen;
    for (const image of body.querySelectorAll("img")) {
      image.addEventListener("error", () => image.replaceWith(element("p", "omitted", "An image that cannot be decoded is not shown.")));
    }
    for (const code of body.querySelectorAll("pre.code")) code.append(copyButton(code));
    return article;
  };

  const copyButton = (code: any): any => {
    const button = element("button", "copy", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      await window.navigator.clipboard?.writeText(code.querySelector("code").textContent).then(
        () => {
          button.textContent = "Copied";
          window.setTimeout(() => {
            button.textContent = "Copy";
          }, 1500);
        },
        () => {},
      );
    });
    return button;
  };

  // ------------------------------------------------------------ stretches

  const fill = (stretch: Stretch): void => {
    if (stretch.isFilled) return;
    stretch.isFilled = true;
    filled.push(stretch);
    const made = document.createDocumentFragment();
    let before = stretches[Number(stretch.element.dataset.stretch) - 1]?.units.at(-1);
    for (const unit of stretch.units) {
      if (unit.choice) made.append(choiceOf(unit.choice));
      const row = rows[unit.main] as Row;
      const previous = before && rows[before.main];
      const isMarked = row.l !== undefined || hidden.has(unit.main);
      const isFollowing = !unit.choice && !isMarked && row.k === "assistant" && previous?.k === "assistant" && row.m === previous.m;
      const article = articleOf(unit, isFollowing);
      if (row.k !== "note") currentObserver.observe(article);
      made.append(article);
      before = unit;
    }
    stretch.element.replaceChildren(made);
    stretch.element.style.minHeight = "";
  };

  const empty = (stretch: Stretch): void => {
    const { height } = stretch.element.getBoundingClientRect();
    stretch.isFilled = false;
    stretch.element.replaceChildren();
    stretch.element.style.minHeight = `${height}px`;
  };

  const nearObserver = new IntersectionObserver(
    (changes: any[]) => {
      for (const { target, isIntersecting } of changes) {
        const stretch = stretches[Number(target.dataset.stretch)];
        if (isIntersecting && stretch?.element === target) fill(stretch as Stretch);
      }
      if (filled.length > MAX_FILLED) dropFar();
    },
    { rootMargin: "1500px 0px" },
  );

  /** Keeps the number of elements bounded however far one scrolls. */
  const dropFar = (): void => {
    const far = filled.filter((stretch) => {
      const { top, bottom } = stretch.element.getBoundingClientRect();
      return bottom < -4000 || top > window.innerHeight + 4000;
    });
    const dropped = new Set(far.slice(0, filled.length - MAX_FILLED));
    for (const stretch of dropped) empty(stretch);
    filled = filled.filter((stretch) => !dropped.has(stretch));
  };

  let heldUntil = 0;
  const tellCurrent = (index: number): void => {
    for (const listener of currentListeners) listener(index);
  };
  const currentObserver = new IntersectionObserver(
    (changes: any[]) => {
      // What was jumped to is what is read, also if the window shows more than that.
      if (window.performance.now() < heldUntil) return;
      for (const { target, isIntersecting } of changes) if (isIntersecting) tellCurrent(Number(target.dataset.index));
    },
    { rootMargin: "-64px 0px -80% 0px" },
  );

  /** Shows the branch that ends with `leaf`. */
  const show = (leaf: number): void => {
    path = data.pathTo(leaf);
    hidden = new Set(path.flatMap((index) => (rows[index]!.k === "edit" && rows[index]!.x !== undefined ? [rows[index]!.x as number] : [])));
    const units = unitsOf(path);
    nearObserver.disconnect();
    currentObserver.disconnect();
    stretches = [];
    filled = [];
    places = new Map();
    const made = document.createDocumentFragment();
    for (let from = 0; from < units.length; from += PER_STRETCH) {
      const stretch: Stretch = { element: element("div", "stretch"), units: units.slice(from, from + PER_STRETCH), isFilled: false };
      stretch.element.dataset.stretch = stretches.length;
      stretch.element.style.minHeight = `${stretch.units.length * ESTIMATED_HEIGHT}px`;
      for (const unit of stretch.units) for (const index of [unit.main, ...unit.others]) places.set(index, stretch);
      stretches.push(stretch);
      made.append(stretch.element);
    }
    container.replaceChildren(made);
    if (stretches[0]) fill(stretches[0]);
    for (const stretch of stretches) nearObserver.observe(stretch.element);
    for (const listener of pathListeners) listener();
  };

  /** Brings an entry into view, changing the branch if need be. Answers its element. */
  const goTo = (index: number): any => {
    const target = firstShown(index);
    if (!places.has(target)) show(data.leafBelow(target));
    const stretch = places.get(target);
    if (!stretch) return undefined;
    const at = Number(stretch.element.dataset.stretch);
    for (const near of [stretches[at - 1], stretch, stretches[at + 1]]) if (near) fill(near);
    const found = document.getElementById(idOf(target)) ?? stretch.element;
    for (let fold = found.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    const article = found.closest("article") ?? found;
    for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
    article.classList.add("target");
    article.focus({ preventScroll: true });
    heldUntil = window.performance.now() + 600;
    tellCurrent(Number(article.dataset.index ?? target));
    // What is above may still get its real height while it comes near.
    const settle = (frames: number) => {
      found.scrollIntoView({ block: "start" });
      if (frames > 0) requestAnimationFrame(() => settle(frames - 1));
    };
    settle(4);
    return article;
  };

  return {
    show,
    goTo,
    hashOf,
    compact,
    money,
    path: () => path,
    onPath: (listener: () => void) => void pathListeners.push(listener),
    onCurrent: (listener: (index: number) => void) => void currentListeners.push(listener),
    /** entries with an article of their own, in order */
    stops: () => stretches.flatMap(({ units }) => units.filter(({ main }) => rows[main]!.k !== "note").map(({ main }) => main)),
    fillAll: () => stretches.forEach(fill),
    setOpen(open: boolean) {
      allOpen = open;
      for (const fold of container.querySelectorAll("details")) fold.open = open;
    },
  };
}
