/**
 * The page's script. Its parts are ordinary functions of this project, handed over as their own source text: they are
 * checked and formatted like all other code, and may use nothing from outside of themselves but their arguments.
 */
import { createChart } from "./chart.ts";
import { createData } from "./data.ts";
import { start } from "./main.ts";
import { createSearch } from "./search.ts";
import { createTree } from "./tree.ts";
import { createView } from "./view.ts";

const parts = { createData, createView, createTree, createSearch, createChart };

export function pageScript(): string {
  const sources = Object.entries(parts).map(([name, part]) => `${name}: ${part}`);
  // No end tag may appear in a script.
  return `(${start})(window, {\n${sources.join(",\n")}\n});`.replaceAll("</", "<\\/");
}
