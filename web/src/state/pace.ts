/** Doing something again and again, but not too often. */

/** Calls `act` at most `rate` times a second, and once more behind the last call. */
export function paced(rate: number, act: () => void): () => void {
  let last = 0;
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(
      () => {
        waiting = false;
        last = performance.now();
        act();
      },
      Math.max(0, last + 1000 / rate - performance.now()),
    );
  };
}
