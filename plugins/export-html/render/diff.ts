/** Diffs with colours: the edit tool's numbered form and unified patches. */
import { clip, escapeHtml } from "./escape.ts";

export interface RenderedDiff {
  html: string;
  added: number;
  removed: number;
}

const kinds: Record<string, string> = { "+": "add", "-": "del", "@": "hunk" };

export function renderDiff(diff: string): RenderedDiff {
  let added = 0;
  let removed = 0;
  const { head, omitted, tail } = clip(diff);
  const lines = (part: string) =>
    part
      .split("\n")
      .map((line) => {
        const kind = line.startsWith("+++") || line.startsWith("---") ? "meta" : (kinds[line[0] ?? ""] ?? "ctx");
        if (kind === "add") added++;
        if (kind === "del") removed++;
        return `<span class="${kind}">${escapeHtml(line) || " "}</span>`;
      })
      .join("");
  const rest = omitted > 0 ? `<span class="hunk">${omitted.toLocaleString("en")} characters are not shown.</span>${lines(tail)}` : "";
  const body = lines(head.replace(/\n$/, "")) + rest;
  return { html: `<pre class="diff" tabindex="0"><code>${body}</code></pre>`, added, removed };
}

/** What an edit wanted, for one that failed: the old text above the new one. */
export function renderReplacement(oldText: string, newText: string): string {
  const sign = (mark: string, text: string) => text.split("\n").map((line) => `${mark} ${line}`);
  return renderDiff([...sign("-", oldText), ...sign("+", newText)].join("\n")).html;
}
