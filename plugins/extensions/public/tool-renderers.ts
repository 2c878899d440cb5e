/** How the built-in tools look to extensions that draw them inside of their own: plain lines. */
import { Plain } from "./components.ts";

class Lines extends Plain {
  readonly #text: string;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }
  override render(width: number): string[] {
    return this.#text.split("\n").flatMap((line) => line.match(new RegExp(`.{1,${Math.max(1, width)}}`, "gu")) ?? [""]);
  }
}

type Result = { content?: { type: string; text?: string }[] } | undefined;

/** The definition with what draws its calls and results. */
export function withRenderers<T extends { name: string }>(definition: T): T & { renderCall(args: unknown): Plain; renderResult(result: Result): Plain } {
  return {
    ...definition,
    renderCall(args) {
      const { command, path, pattern } = (args ?? {}) as Record<string, unknown>;
      return new Lines([definition.name, command ?? pattern ?? path ?? ""].join(" ").trim());
    },
    renderResult: (result) => new Lines((result?.content ?? []).flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join("\n")),
  };
}
