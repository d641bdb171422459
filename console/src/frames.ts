/** The stream of a run: frames of one byte kind, four bytes length (little endian) and payload. */

export interface Frame {
  kind: "J" | "A";
  payload: Uint8Array;
}

const HEAD = 5;

/** Yields the frames of a body as they arrive. */
export async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const bytes = new ByteQueue();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes.push(value);
      while (bytes.length >= HEAD) {
        const head = bytes.peek(HEAD);
        const length = new DataView(head.buffer, head.byteOffset).getUint32(1, true);
        if (bytes.length < HEAD + length) break;
        bytes.take(HEAD);
        yield { kind: String.fromCharCode(head[0]!) as Frame["kind"], payload: bytes.take(length) };
      }
    }
  } finally {
    reader.releaseLock();
  }
  if (bytes.length) throw new Error("the server's answer ended in the midst of a frame");
}

/** Bytes that arrive in pieces and are taken in others, each copied once. */
export class ByteQueue {
  #pieces: Uint8Array[] = [];
  length = 0;

  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.length += piece.length;
  }

  peek(count: number): Uint8Array {
    const found = this.take(count);
    this.#pieces.unshift(found);
    this.length += count;
    return found;
  }

  /** Returns a copy of the first bytes, in memory of its own (so aligned to eight bytes), and drops them. */
  take(count: number): Uint8Array {
    if (count > this.length) throw new RangeError("not so many bytes");
    const taken = new Uint8Array(count);
    let filled = 0;
    while (filled < count) {
      const piece = this.#pieces[0]!;
      const used = Math.min(piece.length, count - filled);
      taken.set(used === piece.length ? piece : piece.subarray(0, used), filled);
      filled += used;
      if (used === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(used);
    }
    this.length -= count;
    return taken;
  }
}
