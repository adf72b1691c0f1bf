/** Lines of a figure put side by side. */
import type { Line } from "../state/store";

/**
 * All lines on one axis of steps. A line with a band has two more columns. null: the line has no value there, and is not drawn on; undefined: the step is
 * another line's.
 */
export function aligned(series: readonly Line[]): { steps: number[]; columns: (number | null | undefined)[][] } {
  const steps = [...new Set(series.flatMap((line) => line.steps))].sort((one, other) => one - other);
  const at = new Map(steps.map((step, index) => [step, index]));
  const columns = series.flatMap((line) =>
    [line.values, ...(line.low && line.high ? [line.low, line.high] : [])].map((values) => {
      const column = new Array<number | null | undefined>(steps.length).fill(undefined);
      line.steps.forEach((step, index) => {
        column[at.get(step) as number] = values[index] ?? null;
      });
      return column;
    }),
  );
  return { steps, columns };
}
