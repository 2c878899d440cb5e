/** In the page: the session's tree as a list of turns and branches to jump to. */
import type { Row } from "../export.ts";
import type { Data } from "./data.ts";
import type { View } from "./view.ts";

export function createTree(window: any, data: Data, view: View): void {
  const { document } = window;
  const MAX_DEPTH = 6;
  const PER_STEP = 400;
  const list = document.getElementById("tree");
  const { rows } = data;
  const listed = new Set(["user", "compaction", "branch", "bash", "custom"]);
  /** list items by entry */
  const items = new Map<number, any>();
  let onPath = new Set(view.path());
  let current = -1;
  let marked: any;

  const itemOf = (index: number, depth: number, isBranch: boolean): any => {
    const row = rows[index] as Row;
    const item = document.createElement("li");
    item.dataset.depth = Math.min(depth, MAX_DEPTH);
    item.className = `${row.k}${isBranch ? " fork" : ""}${onPath.has(index) ? " on" : ""}`;
    const link = document.createElement("a");
    link.href = view.hashOf(index);
    if (row.l) {
      const label = document.createElement("span");
      label.className = "label";
      label.textContent = row.l;
      link.append(label, " ");
    }
    link.append(row.s ?? row.k);
    item.append(link);
    items.set(index, item);
    return item;
  };

  // An explicit stack: a session may be tens of thousands of entries deep. In steps: the page stays responsive meanwhile.
  const roots = data.childrenOf(-1);
  const waiting = roots.map((index) => ({ index, depth: roots.length > 1 ? 1 : 0, isBranch: roots.length > 1 })).reverse();
  const build = (): void => {
    const made = document.createDocumentFragment();
    for (let left = PER_STEP; left > 0 && waiting.length > 0; ) {
      const { index, depth, isBranch } = waiting.pop()!;
      const isListed = data.isShown(index) && (listed.has(rows[index]!.k) || isBranch);
      if (isListed) {
        made.append(itemOf(index, depth, isBranch));
        left--;
      }
      const children = data.childrenOf(index);
      const forks = children.length > 1;
      // A branch whose first entry has nothing to show is marked at the first one that has.
      const isPending = isBranch && !isListed;
      for (const child of children.toReversed()) waiting.push({ index: child, depth: depth + (forks ? 1 : 0), isBranch: forks || isPending });
    }
    list.append(made);
    mark(current);
    if (waiting.length > 0) window.setTimeout(build, 0);
  };

  /** Marks the turn that holds an entry, once it is in the list. */
  const mark = (index: number): void => {
    current = index;
    let at = index;
    while (at >= 0 && !items.has(at)) at = rows[at]!.p;
    const item = items.get(at);
    if (!item || item === marked) return;
    marked?.removeAttribute("aria-current");
    marked = item;
    item.setAttribute("aria-current", "true");
    // Not scrollIntoView: it would also move the page.
    const { offsetTop } = item;
    const pane = list.parentElement;
    if (offsetTop < pane.scrollTop || offsetTop > pane.scrollTop + pane.clientHeight - 60) pane.scrollTop = offsetTop - pane.clientHeight / 2;
  };

  view.onPath(() => {
    onPath = new Set(view.path());
    for (const [index, item] of items) item.classList.toggle("on", onPath.has(index));
  });
  view.onCurrent(mark);
  build();
}
