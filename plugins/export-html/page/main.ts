/** In the page: puts the parts together; head, theme, folds, keys and addresses. */
import type { createChart } from "./chart.ts";
import type { createData } from "./data.ts";
import type { createSearch } from "./search.ts";
import type { createTree } from "./tree.ts";
import type { createView } from "./view.ts";

interface Parts {
  createData: typeof createData;
  createView: typeof createView;
  createTree: typeof createTree;
  createSearch: typeof createSearch;
  createChart: typeof createChart;
}

export function start(window: any, parts: Parts): void {
  const { document, location } = window;
  const byId = (id: string): any => document.getElementById(id);
  const data = parts.createData(window);
  const view = parts.createView(window, data);
  const search = parts.createSearch(window, data, view);
  parts.createChart(window, data, view);

  // ------------------------------------------------------------ head

  const { meta, rows } = data;
  const fact = (name: string, value: string) => {
    const box = document.createElement("div");
    const term = document.createElement("dt");
    const text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    box.append(term, text);
    return box;
  };
  const describe = (): void => {
    const path = view.path().map((index) => rows[index]!);
    const sum = (position: number) => path.reduce((total, { u }) => total + (u?.[position] ?? 0), 0);
    const kinds = (kind: string) => path.filter(({ k }) => k === kind).length;
    const times = path.flatMap(({ t }) => (t ? [t] : []));
    const minutes = Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 60000);
    const facts = [
      fact("Prompts", kinds("user").toLocaleString()),
      fact("Answers", kinds("assistant").toLocaleString()),
      fact("Tools", kinds("tool").toLocaleString()),
      fact("Tokens in", view.compact(sum(0) + sum(2) + sum(3))),
      fact("Tokens out", view.compact(sum(1))),
      fact("Cost", view.money(sum(4))),
      ...(minutes > 0 ? [fact("Time", minutes >= 120 ? `${Math.round(minutes / 60)} h` : `${minutes} min`)] : []),
    ];
    byId("totals").replaceChildren(...facts);
  };
  document.title = meta.title;
  byId("title").textContent = meta.title;
  byId("bar-title").textContent = meta.title;
  const created = new Date(meta.created ?? "");
  byId("origin").textContent = [
    ...(Number.isNaN(created.getTime()) ? [] : [created.toLocaleString([], { dateStyle: "long", timeStyle: "short" })]),
    ...(meta.models.length > 0 ? [meta.models.slice(0, 3).join(", ")] : []),
    ...(meta.cwd ? [meta.cwd] : []),
  ].join(" · ");
  const exported = new Date(meta.exported).toLocaleDateString([], { dateStyle: "long" });
  byId("colophon").textContent = `Exported by ${meta.generator} on ${exported}${meta.id ? ` · session ${meta.id}` : ""}`;
  view.onPath(describe);

  // ------------------------------------------------------------ theme

  const themes = ["auto", "light", "dark"];
  const themeButton = byId("theme");
  const setTheme = (theme: string): void => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme] ?? "◐";
    themeButton.setAttribute("aria-label", `Colours: ${theme}`);
    themeButton.title = `Colours: ${theme} (d)`;
    themeButton.dataset.theme = theme;
    try {
      window.localStorage.setItem("pi-theme", theme);
    } catch {
      // A page without storage forgets; nothing else is lost.
    }
  };
  const nextTheme = () => setTheme(themes[(themes.indexOf(themeButton.dataset.theme) + 1) % themes.length] as string);
  let stored: string | null = null;
  try {
    stored = window.localStorage.getItem("pi-theme");
  } catch {
    // as above
  }
  setTheme(stored && themes.includes(stored) ? stored : "auto");
  themeButton.addEventListener("click", nextTheme);

  // ------------------------------------------------------------ folds and panes

  const foldButton = byId("folds");
  let isOpen = false;
  const toggleFolds = (): void => {
    isOpen = !isOpen;
    view.setOpen(isOpen);
    foldButton.textContent = isOpen ? "Fold all" : "Unfold all";
  };
  foldButton.addEventListener("click", toggleFolds);
  const paneButton = byId("pane");
  const setPane = (isShown: boolean): void => {
    document.body.classList.toggle("pane", isShown);
    paneButton.setAttribute("aria-expanded", String(isShown));
  };
  const isNarrow = () => window.matchMedia("(max-width: 60rem)").matches;
  const togglePane = () => setPane(!document.body.classList.contains("pane"));
  paneButton.addEventListener("click", togglePane);
  setPane(!isNarrow());
  byId("side").addEventListener("click", (event: any) => {
    if (event.target.closest("a") && isNarrow()) setPane(false);
  });
  const help = byId("help");
  const toggleHelp = () => (help.open ? help.close() : help.showModal());
  byId("help-button").addEventListener("click", toggleHelp);
  byId("help-close").addEventListener("click", () => help.close());

  // ------------------------------------------------------------ addresses

  let current = -1;
  view.onCurrent((index) => {
    current = index;
  });
  const indexOfHash = (): number => {
    if (!location.hash.startsWith("#e-")) return -1;
    try {
      return data.positions.get(decodeURIComponent(location.hash.slice(3))) ?? -1;
    } catch {
      return -1;
    }
  };
  const follow = (): void => {
    const index = indexOfHash();
    if (index >= 0) view.goTo(index);
  };
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event: any) => {
    const link = event.target.closest?.('a[href^="#e-"]');
    if (!link || event.defaultPrevented) return;
    if (link.classList.contains("anchor")) window.navigator.clipboard?.writeText(link.href).catch(() => {});
    // The same address again raises no event.
    if (link.hash === location.hash) follow();
  });

  // ------------------------------------------------------------ keys

  const move = (by: number): void => {
    const stops = view.stops();
    if (stops.length === 0) return;
    const at = stops.indexOf(current);
    const next = stops[at < 0 ? 0 : Math.min(Math.max(at + by, 0), stops.length - 1)] as number;
    window.history.replaceState(null, "", view.hashOf(next));
    view.goTo(next);
  };
  const keys: Record<string, () => void> = {
    j: () => move(1),
    k: () => move(-1),
    n: () => search.step(1),
    N: () => search.step(-1),
    "/": () => {
      setPane(true);
      search.focus();
    },
    e: toggleFolds,
    t: togglePane,
    d: nextTheme,
    "?": toggleHelp,
    g: () => window.scrollTo({ top: 0 }),
    G: () => {
      const stops = view.stops();
      if (stops.length > 0) view.goTo(stops.at(-1) as number);
    },
    Escape: () => {
      if (isNarrow()) setPane(false);
    },
  };
  document.addEventListener("keydown", (event: any) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, [role=slider]") || help.open) return;
    const action = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("beforeprint", view.fillAll);

  const wanted = indexOfHash();
  const isElsewhere = wanted >= 0 && !data.pathTo(meta.leaf).includes(wanted);
  view.show(isElsewhere ? data.leafBelow(wanted) : meta.leaf);
  parts.createTree(window, data, view);
  document.body.classList.remove("loading");
  follow();
}
