/** What can go wrong with a request. Every error has a `tag`, so that who catches it can tell it apart without looking into texts. */
import type { Problem } from "../state/told";

/** The server refused, and said why: problem+json. */
export class Refused extends Error {
  readonly tag = "refused";
  constructor(
    readonly problem: Problem,
    /** Every other member of the document, such as the commands since of a 412. */
    readonly document: Readonly<Record<string, unknown>>,
    readonly retry_after: number | null,
  ) {
    super(problem.detail || problem.title);
  }
}

/** No answer came. */
export class Unreachable extends Error {
  readonly tag = "unreachable";
}

/** The answer is none that this page can read. */
export class Unreadable extends Error {
  readonly tag = "unreadable";
}

export type Failure = Refused | Unreachable | Unreadable;

export function isFailure(error: unknown): error is Failure {
  return error instanceof Refused || error instanceof Unreachable || error instanceof Unreadable;
}

/** The error of an answer that is no success. */
export async function refusedBy(answer: Response): Promise<Refused> {
  const wait = Number(answer.headers.get("Retry-After"));
  const document: Record<string, unknown> = await answer.json().catch(() => ({}));
  const text = (name: string, otherwise: string) => (typeof document[name] === "string" ? (document[name] as string) : otherwise);
  const problem: Problem = {
    type: text("type", "about:blank"),
    instance: text("instance", ""),
    status: answer.status,
    code: text("code", "unknown"),
    title: text("title", `The server answered ${answer.status}`),
    detail: text("detail", ""),
    variable: text("variable", "") || null,
    value: document.value ?? null,
    allowed: document.allowed ?? null,
    nearest: text("nearest", "") || null,
    position: document.position ?? null,
  };
  return new Refused(problem, document, wait > 0 ? wait : null);
}
