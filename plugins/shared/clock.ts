/** Milliseconds that only go forward. Not the global `performance`, for which Node reads modules that a start does without. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
