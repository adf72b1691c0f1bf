import { expect, it } from "vitest";
import { Api } from "../src/fetch/api";

it("the log is read page by page", async () => {
  const asked: string[] = [];
  const answer = async (address: RequestInfo | URL) => {
    const { searchParams } = new URL(String(address));
    asked.push(searchParams.toString());
    const after = Number(searchParams.get("after"));
    const count = Math.min(Number(searchParams.get("limit")), 5 - after);
    return new Response(Array.from({ length: count }, (_, n) => `{"seq":${after + n + 1}}\n`).join(""));
  };
  const api = new Api(new URL("http://127.0.0.1:8090/"), "out", answer as typeof fetch);
  expect((await api.log(1, 2)).map(({ seq }) => seq)).toEqual([2, 3, 4, 5]);
  expect(asked).toEqual(["after=1&limit=2", "after=3&limit=2", "after=5&limit=2"]);
});
