/** Components of the terminal program: classes that can be extended and that render plain lines. */

type Paint = (text: string) => string;

/** Whatever it is given, it can be rendered. */
export class Plain {
  readonly args: unknown[];

  constructor(...args: unknown[]) {
    this.args = args;
  }
  render(_width: number): string[] {
    return [];
  }
  invalidate(): void {}
  handleInput(_data: string): void {}
  dispose(): void {}
}

export class DynamicBorder extends Plain {
  readonly #paint: Paint;

  constructor(paint?: Paint) {
    super(paint);
    this.#paint = typeof paint === "function" ? paint : (text) => text;
  }
  override render(width: number): string[] {
    return [this.#paint("─".repeat(Math.max(1, width)))];
  }
}

export class BorderedLoader extends Plain {
  readonly signal: AbortSignal;
  onAbort: (() => void) | undefined;
  readonly #controller = new AbortController();
  readonly #message: string;

  constructor(...args: unknown[]) {
    super(...args);
    this.signal = this.#controller.signal;
    this.#message = String(args[2] ?? "");
  }
  override render(width: number): string[] {
    const border = "─".repeat(Math.max(1, width));
    return [border, this.#message, border];
  }
}

/** The input editor as extensions extend it. */
export class CustomEditor extends Plain {
  #text = "";
  onSubmit: ((text: string) => void) | undefined;
  onChange: ((text: string) => void) | undefined;
  borderColor: Paint = (text) => text;
  focused = false;

  getText(): string {
    return this.#text;
  }
  setText(text: string): void {
    this.#text = String(text);
  }
  insertTextAtCursor(text: string): void {
    this.#text += text;
  }
  getLines(): string[] {
    return this.#text.split("\n");
  }
  setAutocompleteProvider(): void {}
  override render(width: number): string[] {
    const border = "─".repeat(Math.max(1, width));
    return [border, ...this.getLines(), border];
  }
}

export class ToolExecutionComponent extends Plain {}
export class UserMessageComponent extends Plain {}
export class AssistantMessageComponent extends Plain {}
export class CustomMessageComponent extends Plain {}
export class BashExecutionComponent extends Plain {}
export class BranchSummaryMessageComponent extends Plain {}
export class CompactionSummaryMessageComponent extends Plain {}
export class SkillInvocationMessageComponent extends Plain {}
export class ModelSelectorComponent extends Plain {}
export class FooterComponent extends Plain {}
export class ExtensionEditorComponent extends Plain {}
export class ExtensionInputComponent extends Plain {}
export class ExtensionSelectorComponent extends Plain {}
export class OAuthSelectorComponent extends Plain {}
export class SessionSelectorComponent extends Plain {}
export class SettingsSelectorComponent extends Plain {}
export class ShowImagesSelectorComponent extends Plain {}
export class ThemeSelectorComponent extends Plain {}
export class ThinkingSelectorComponent extends Plain {}
export class TreeSelectorComponent extends Plain {}
export class UserMessageSelectorComponent extends Plain {}

// ---------------------------------------------------------------- small texts

export const keyText = (action: string): string => String(action);
export const keyHint = (action: string, description: string): string => `${keyText(action)} ${description}`;
export const rawKeyHint = (key: string, description: string): string => `${key} ${description}`;
export const renderDiff = (diff: string): string => String(diff);
export const highlightCode = (code: string): string[] => String(code).split("\n");

/** The last lines that fit, and how many were left out. */
export function truncateToVisualLines(text: string, maxLines: number, width: number): { visualLines: string[]; skippedCount: number } {
  const lines = String(text)
    .split("\n")
    .flatMap((line) => line.match(new RegExp(`.{1,${Math.max(1, width)}}`, "gu")) ?? [""]);
  return { visualLines: lines.slice(-maxLines), skippedCount: Math.max(0, lines.length - maxLines) };
}

const languages: Record<string, string> = {
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  py: "python",
  rb: "ruby",
  rs: "rust",
  go: "go",
  java: "java",
  c: "c",
  h: "c",
  cpp: "cpp",
  cs: "csharp",
  sh: "bash",
  bash: "bash",
  json: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "toml",
  md: "markdown",
  html: "html",
  css: "css",
  sql: "sql",
  xml: "xml",
  php: "php",
  swift: "swift",
  kt: "kotlin",
};

export function getLanguageFromPath(path: string): string | undefined {
  return languages[String(path).split(".").pop()?.toLowerCase() ?? ""];
}
