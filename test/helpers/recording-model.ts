/** A model for the real program that keeps what it was asked. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./pi.ts";

export interface Recorded {
  systemPrompt: string;
  messages: any[];
  tools: string[];
}

/** Answers from a list, as in a script; the last answer is repeated. */
export function recordingModel(answers: unknown[] = ["fine"]) {
  const dir = tempDir("pi-model-");
  const file = join(dir, "model.ts");
  const log = join(dir, "requests.jsonl");
  writeFileSync(
    file,
    `import { appendFileSync } from "node:fs";
     const answers = ${JSON.stringify(answers)};
     export default (request, index) => {
       appendFileSync(${JSON.stringify(log)}, JSON.stringify({ systemPrompt: request.systemPrompt, messages: request.messages, tools: request.tools.map(({ name }) => name) }) + "\\n");
       return answers[Math.min(index, answers.length - 1)];
     };`,
  );
  const requests = (): Recorded[] =>
    existsSync(log)
      ? readFileSync(log, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : [];
  return { args: ["--model", `scripted/${file}`], requests };
}
