/** The live socket. A connection that is lost is made again: after 0.25 s, doubling to 8 s; at once when the page is seen or the network is back. */
import { type Drops, decode, type Frame, isFrame } from "../decode/frame";
import { unpacked } from "../state/grid";
import type { Followed, Message } from "../state/told";
import { PROTOCOLS } from "./started";

export interface Stream {
  stream: number;
  scenario: string;
  variable: string;
  bits: 8 | 16;
  range: "auto" | readonly [number, number];
  rate: number;
  width?: number;
  stride?: number;
}
export interface Hearers {
  message(message: Message): void;
  frame(frame: Frame): void;
  drops(drops: Drops): void;
  /** retry: milliseconds until the next attempt. */
  link(link: "connecting" | "open" | "lost" | "ended", retry: number | null): void;
  /** What came could not be read. */
  unreadable(error: Error): void;
}

const FIRST_WAIT = 250; // [ms]
const LONGEST_WAIT = 8000; // [ms]
const BEAT = 10_000; // [ms] between pings
const SILENCE = 25_000; // [ms] without a word after which the connection is taken for dead
const PACKED = 0x5a505453; // "STPZ", before zlib of a text
const OVER = 1000; // the code with which a server closes when the run has ended

/** The socket as those see it who use it. */
export interface Wire {
  /** Shows these; said again by itself after a connection was lost. */
  watch(streams: readonly Stream[]): void;
  /** Has these told after every step; to be said again after each hello. */
  follow(lines: readonly Followed[]): void;
  /** Asks for the exact value of a cell of a stream, now and with each frame; null ends that. */
  cursor(stream: number, cell: number | null): void;
  close(): void;
}

export class Live implements Wire {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private beat: ReturnType<typeof setInterval> | undefined;
  private heard = 0;
  private wanted: readonly Stream[] = [];
  private followed: readonly Followed[] = [];
  private closed = false;

  constructor(
    private readonly address: string,
    private readonly hearers: Hearers,
    /** A socket that was opened before this, and what came through it. */
    private started: { socket: WebSocket | null; heard: readonly MessageEvent[] } | null = null,
  ) {
    addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.seen);
    this.connect();
  }

  watch(streams: readonly Stream[]): void {
    this.wanted = streams;
    if (!document.hidden) this.say({ watch: streams });
  }

  follow(lines: readonly Followed[]): void {
    this.followed = lines;
    this.say({ follow: lines });
  }

  cursor(stream: number, cell: number | null): void {
    this.say({ cursor: { stream, cell } });
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.beat);
    removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.seen);
    this.socket?.close(1000);
  }

  private say(words: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(words));
  }

  private readonly hurry = (): void => {
    if (this.closed || this.socket?.readyState === WebSocket.OPEN || this.socket?.readyState === WebSocket.CONNECTING) return;
    this.wait = FIRST_WAIT;
    clearTimeout(this.timer);
    this.connect();
  };

  private readonly seen = (): void => {
    if (document.hidden) {
      this.say({ watch: [] });
      if (this.followed.length > 0) this.say({ follow: [] });
      return;
    }
    if (performance.now() - this.heard > SILENCE) this.socket?.close(4000); // this computer slept
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.say({ watch: this.wanted });
      if (this.followed.length > 0) this.say({ follow: this.followed });
    } else this.hurry();
  };

  private connect(): void {
    this.hearers.link("connecting", null);
    const { started } = this;
    this.started = null;
    const usable = started?.socket && started.socket.readyState <= WebSocket.OPEN ? started.socket : null;
    const socket = usable ?? new WebSocket(this.address, PROTOCOLS);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.heard = performance.now();
      this.hearers.link("open", null);
      if (this.wanted.length > 0 && !document.hidden) this.say({ watch: this.wanted });
      clearInterval(this.beat);
      this.beat = setInterval(() => {
        this.say({ ping: 1 });
        if (performance.now() - this.heard > SILENCE) socket.close(4000);
      }, BEAT);
    };
    let before: Promise<unknown> = Promise.resolve(); // what comes waits for the message before it, which may be packed
    socket.onmessage = ({ data }) => {
      this.heard = performance.now();
      this.wait = FIRST_WAIT;
      const message = typeof data === "string" ? data : textOf(data);
      before = before
        .then(async () => socket === this.socket && this.take(await message))
        .catch((error: Error) => this.hearers.unreadable(error));
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.socket || this.closed) return;
      clearInterval(this.beat);
      if (code === OVER) {
        this.close();
        return this.hearers.link("ended", null);
      }
      this.hearers.link("lost", this.wait);
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
    };
    if (!usable) return;
    queueMicrotask(() => {
      // once what is told is listened to
      if (socket.readyState === WebSocket.OPEN) socket.onopen?.(new Event("open"));
      for (const message of started?.heard ?? []) socket.onmessage?.(message);
    });
  }

  private take(data: string | ArrayBuffer): void {
    if (typeof data === "string") return this.hearers.message(JSON.parse(data) as Message);
    heardBinary(this.hearers, data);
  }
}

/** The text of a packed message; another one as it is. */
function textOf(data: ArrayBuffer): ArrayBuffer | Promise<string> {
  const isPacked = data.byteLength > 4 && new DataView(data).getUint32(0, true) === PACKED;
  return isPacked ? unpacked(new Uint8Array(data, 4)).text() : data;
}

/** A binary message; raises FrameError when it is none. */
export function heardBinary(hearers: Hearers, data: ArrayBuffer): void {
  const found = decode(data);
  if (isFrame(found)) hearers.frame(found);
  else hearers.drops(found);
}
