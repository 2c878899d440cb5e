/** Models, tools and extensions must not move the cursor, change the terminal, or show letters in another order than they are in. */
export function terminalText(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** The text as it may be written to this stream: a terminal obeys it, a pipe passes it on. */
export function textFor(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY ? terminalText(text) : text;
}
