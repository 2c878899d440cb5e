/** In the page: search over the whole session, in slices, so that typing never stalls. */
import type { Data } from "./data.ts";
import type { View } from "./view.ts";

export function createSearch(window: any, data: Data, view: View) {
  const { document, performance, NodeFilter, CSS } = window;
  const MAX_LISTED = 300;
  const SLICE_MS = 10;
  const input = document.getElementById("search");
  const list = document.getElementById("results");
  const status = document.getElementById("search-status");
  const side = document.getElementById("side");
  let hits: number[] = [];
  let at = -1;
  let running = 0;
  let timer: number | undefined;

  const query = (): string => input.value.trim().toLowerCase();

  const snippetOf = (text: string, start: number, length: number): any => {
    const made = document.createDocumentFragment();
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, start + length);
    made.append(`${start > 36 ? "…" : ""}${text.slice(Math.max(0, start - 36), start)}`, mark, `${text.slice(start + length, start + length + 60)}…`);
    return made;
  };

  const addToList = (index: number, text: string, start: number, length: number): void => {
    const row = data.rows[index]!;
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = view.hashOf(index);
    const kind = document.createElement("span");
    kind.className = "kind";
    kind.textContent = row.k === "tool" ? (row.s ?? "tool") : row.k;
    link.append(kind, " ", snippetOf(text, start, length));
    const position = hits.length - 1;
    link.addEventListener("click", (event: any) => {
      event.preventDefault();
      open(position);
    });
    item.append(link);
    list.append(item);
  };

  const say = (isDone: boolean): void => {
    const count = hits.length.toLocaleString();
    if (hits.length === 0) status.textContent = isDone ? "Nothing found" : "Searching…";
    else status.textContent = `${at >= 0 ? `${at + 1} of ` : ""}${count}${at >= 0 ? "" : " found"}${isDone ? "" : "…"}`;
  };

  const run = (): void => {
    const wanted = query();
    const turn = ++running;
    hits = [];
    at = -1;
    list.replaceChildren();
    side.classList.toggle("searching", wanted !== "");
    CSS.highlights?.clear();
    if (wanted === "") {
      status.textContent = "";
      return;
    }
    let index = 0;
    const slice = (): void => {
      if (turn !== running) return;
      const until = performance.now() + SLICE_MS;
      while (index < data.rows.length && performance.now() < until) {
        const row = data.rows[index]!;
        if (row.c !== undefined) {
          const text = data.text(row).replace(/\s+/g, " ");
          const start = text.toLowerCase().indexOf(wanted);
          if (start >= 0) {
            hits.push(index);
            if (hits.length <= MAX_LISTED) addToList(index, text, start, wanted.length);
          }
        }
        index++;
      }
      const isDone = index >= data.rows.length;
      say(isDone);
      if (!isDone) window.setTimeout(slice, 0);
    };
    slice();
  };

  /** Shows one hit: folds that hide it open, and it is marked where the browser can do so without touching the text. */
  const open = (position: number): void => {
    if (hits.length === 0) return;
    at = (position + hits.length) % hits.length;
    for (const [number, item] of [...list.children].entries()) {
      if (number === at) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
    list.children[at]?.scrollIntoView({ block: "nearest" });
    say(true);
    const article = view.goTo(hits[at] as number);
    if (!article) return;
    window.history.replaceState(null, "", view.hashOf(hits[at] as number));
    const wanted = query();
    for (const fold of article.querySelectorAll("details")) if (fold.textContent.toLowerCase().includes(wanted)) fold.open = true;
    highlight(article, wanted);
  };

  const highlight = (root: any, wanted: string): void => {
    const nodes: { node: any; start: number }[] = [];
    let text = "";
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      nodes.push({ node, start: text.length });
      text += node.data.toLowerCase();
    }
    const ranges: any[] = [];
    let first = 0;
    for (let from = text.indexOf(wanted); from >= 0 && ranges.length < 500; from = text.indexOf(wanted, from + wanted.length)) {
      // A hit may begin in one coloured piece of code and end in another.
      const range = document.createRange();
      while (first + 1 < nodes.length && nodes[first + 1]!.start <= from) first++;
      range.setStart(nodes[first]!.node, from - nodes[first]!.start);
      let last = first;
      while (last + 1 < nodes.length && nodes[last + 1]!.start < from + wanted.length) last++;
      range.setEnd(nodes[last]!.node, from + wanted.length - nodes[last]!.start);
      ranges.push(range);
    }
    CSS.highlights?.set("found", new window.Highlight(...ranges));
    const [nearest] = ranges;
    if (!nearest) return;
    window.setTimeout(() => {
      const { top } = nearest.getBoundingClientRect();
      if (top < 80 || top > window.innerHeight - 80) window.scrollBy({ top: top - window.innerHeight / 3 });
    }, 120);
  };

  input.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(run, 120);
  });
  input.addEventListener("keydown", (event: any) => {
    if (event.key === "Enter") {
      event.preventDefault();
      open(at + (event.shiftKey ? -1 : 1));
    }
    if (event.key === "Escape") {
      input.value = "";
      run();
      input.blur();
    }
  });

  return { focus: () => input.select(), step: (by: number) => open(at + by) };
}
