/** The `ui` service of a test: it notes every call and answers questions from a script. */
import type { DialogOptions, Ui } from "../../plugins/rpc/contract.ts";

export type UiCall =
  | { method: "select"; title: string; options: string[]; answer: string | undefined }
  | { method: "confirm"; title: string; message: string; answer: boolean }
  | { method: "input"; title: string; placeholder?: string; answer: string | undefined }
  | { method: "editor"; title: string; prefill?: string; answer: string | undefined }
  | { method: "notify"; message: string; type: "info" | "warning" | "error" }
  | { method: "setStatus"; key: string; text: string | undefined }
  | { method: "setWidget"; key: string; lines: string[] | undefined; placement?: "aboveEditor" | "belowEditor" }
  | { method: "setTitle"; title: string }
  | { method: "setEditorText"; text: string };

/** A question on its way to an answer. */
export type UiQuestion = { method: "select" | "confirm" | "input" | "editor"; title: string; message?: string; options?: string[] };
export type UiAnswer = string | boolean | undefined;
/** Answers in order, or a function that is asked. Who has no answer cancels the dialog. */
export type UiAnswers = UiAnswer[] | ((question: UiQuestion) => UiAnswer | Promise<UiAnswer>);

export class RecordingUi implements Ui {
  /** every call, in order */
  readonly calls: UiCall[] = [];
  /** what the next questions are answered; add to it, or replace it */
  answers: UiAnswers;
  readonly #open = new Map<() => void, object | undefined>();

  constructor(answers: UiAnswers = []) {
    this.answers = answers;
  }

  /** texts of all notices */
  get notices(): string[] {
    return this.calls.flatMap((call) => (call.method === "notify" ? [call.message] : []));
  }

  /** the last text of each status that is shown */
  get statuses(): Record<string, string> {
    const shown: Record<string, string> = {};
    for (const call of this.calls) {
      if (call.method !== "setStatus") continue;
      if (call.text === undefined) delete shown[call.key];
      else shown[call.key] = call.text;
    }
    return shown;
  }

  async select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined> {
    const answer = text(await this.#ask({ method: "select", title, options }, settings));
    if (answer !== undefined && !options.includes(answer)) throw new Error(`The test answered "${answer}" to "${title}", which offers ${options.join(", ")}.`);
    this.calls.push({ method: "select", title, options, answer });
    return answer;
  }

  async confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean> {
    const answer = (await this.#ask({ method: "confirm", title, message }, settings)) === true;
    this.calls.push({ method: "confirm", title, message, answer });
    return answer;
  }

  async input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined> {
    const answer = text(await this.#ask({ method: "input", title }, settings));
    this.calls.push({ method: "input", title, ...(placeholder !== undefined && { placeholder }), answer });
    return answer;
  }

  async editor(title: string, prefill?: string, settings?: DialogOptions): Promise<string | undefined> {
    const answer = text(await this.#ask({ method: "editor", title }, settings));
    this.calls.push({ method: "editor", title, ...(prefill !== undefined && { prefill }), answer });
    return answer;
  }

  notify(message: string, type: "info" | "warning" | "error" = "info"): void {
    this.calls.push({ method: "notify", message, type });
  }

  setStatus(key: string, text: string | undefined): void {
    this.calls.push({ method: "setStatus", key, text });
  }

  setWidget(key: string, lines: string[] | undefined, placement?: "aboveEditor" | "belowEditor"): void {
    this.calls.push({ method: "setWidget", key, lines, ...(placement && { placement }) });
  }

  setTitle(title: string): void {
    this.calls.push({ method: "setTitle", title });
  }

  setEditorText(text: string): void {
    this.calls.push({ method: "setEditorText", text });
  }

  cancelDialogs(owner: object): void {
    for (const [cancel, other] of this.#open) if (other === owner) cancel();
  }

  openDialogs(owner: object): number {
    return [...this.#open.values()].filter((other) => other === owner).length;
  }

  /** The script's answer, or nothing if the dialog is cancelled before it comes. */
  #ask(question: UiQuestion, { owner, signal }: DialogOptions = {}): Promise<UiAnswer> {
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.#open.delete(cancel);
        resolve(undefined);
      };
      this.#open.set(cancel, owner);
      signal?.addEventListener("abort", cancel, { once: true });
      const answer = Array.isArray(this.answers) ? this.answers.shift() : this.answers(question);
      Promise.resolve(answer)
        .then(resolve, reject)
        .finally(() => this.#open.delete(cancel));
    });
  }
}

const text = (answer: UiAnswer): string | undefined => (typeof answer === "string" ? answer : undefined);
