/** Dialogs of extensions as questions on the terminal. */
import type { Ui } from "../rpc/contract.ts";
import type { Terminal } from "./terminal.ts";

export function terminalUi(terminal: Terminal): Ui {
  return {
    async select(title, options) {
      terminal.line(title);
      for (const [index, option] of options.entries()) terminal.line(`  ${index + 1}. ${option}`);
      const answer = await terminal.ask("number, or nothing to cancel: ");
      return options[Number(answer) - 1];
    },
    async confirm(title, message) {
      const answer = await terminal.ask(`${title}${message ? ` ${message}` : ""} [y/N] `);
      return /^y(es)?$/i.test(answer?.trim() ?? "");
    },
    async input(title, placeholder) {
      const answer = await terminal.ask(`${title}${placeholder ? ` (${placeholder})` : ""}: `);
      return answer === "" ? undefined : answer;
    },
    async editor(title, prefill) {
      const answer = await terminal.ask(`${title}${prefill ? ` [${prefill}]` : ""}: `);
      return answer === "" ? prefill : answer;
    },
    notify: (message, type = "info") => terminal.line(type === "info" ? message : `${type}: ${message}`),
    setStatus: () => {},
    setWidget: (_, lines) => {
      for (const line of lines ?? []) terminal.line(line, "dim");
    },
    setTitle: () => {},
    setEditorText: () => {},
    cancelDialogs: () => {},
    openDialogs: () => 0,
  };
}
