/** Themes without a terminal: text comes back as it was given. */
import type { ThinkingLevel } from "../../../core/index.ts";

const same = (text: string): string => String(text);

/** A theme that paints nothing. */
export class Theme {
  readonly name: string | undefined;

  constructor(name?: unknown) {
    this.name = typeof name === "string" ? name : undefined;
  }

  fg(_color: string, text: string): string {
    return same(text);
  }
  bg(_color: string, text: string): string {
    return same(text);
  }
  bold(text: string): string {
    return same(text);
  }
  italic(text: string): string {
    return same(text);
  }
  underline(text: string): string {
    return same(text);
  }
  inverse(text: string): string {
    return same(text);
  }
  strikethrough(text: string): string {
    return same(text);
  }
  getFgAnsi(_color: string): string {
    return "";
  }
  getBgAnsi(_color: string): string {
    return "";
  }
  getColorMode(): "truecolor" | "256color" {
    return "truecolor";
  }
  getThinkingBorderColor(_level: ThinkingLevel): (text: string) => string {
    return same;
  }
  getBashModeBorderColor(): (text: string) => string {
    return same;
  }
}

export const plainTheme = new Theme("plain");

const markdownStyles = "heading link linkUrl code codeBlock codeBlockBorder quote quoteBorder hr listBullet bold italic strikethrough underline".split(" ");

export function getMarkdownTheme(): Record<string, unknown> {
  return { ...Object.fromEntries(markdownStyles.map((style) => [style, same])), highlightCode: (code: string) => String(code).split("\n") };
}

export function getSelectListTheme(): Record<string, unknown> {
  return { selectedPrefix: same, selectedText: same, description: same, scrollInfo: same, noMatch: same };
}

export function getSettingsListTheme(): Record<string, unknown> {
  return { label: same, value: same, description: same, cursor: "> ", hint: same };
}

/** What editors are painted with. */
export function getEditorTheme(): Record<string, unknown> {
  return { borderColor: same, selectList: getSelectListTheme() };
}

/** Nothing to set up. */
export function initTheme(): void {}
