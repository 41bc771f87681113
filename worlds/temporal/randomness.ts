import { Long } from '../sdk.ts';

const MASK = (1n << 64n) - 1n;

/** Core's seed of a run's random numbers: SipHash-1-3 with key 0 over the run id and a byte 0xff. */
export function randomnessSeed(runId: string): Long {
  const state = new SipState();
  const bytes = Buffer.concat([Buffer.from(runId), Buffer.from([0xff])]);
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) state.take(bytes.readBigUInt64LE(at));
  const tail = Buffer.alloc(8);
  bytes.copy(tail, 0, whole);
  tail[7] = bytes.length & 0xff;
  state.take(tail.readBigUInt64LE(0));
  return Long.fromString(state.finish().toString(), true);
}

class SipState {
  private a = 0x736f6d6570736575n;
  private b = 0x646f72616e646f6dn;
  private c = 0x6c7967656e657261n;
  private d = 0x7465646279746573n;

  take(word: bigint): void {
    this.d ^= word;
    this.round();
    this.a ^= word;
  }

  finish(): bigint {
    this.c ^= 0xffn;
    for (let round = 0; round < 3; round += 1) this.round();
    return this.a ^ this.b ^ this.c ^ this.d;
  }

  private round(): void {
    this.a = (this.a + this.b) & MASK;
    this.b = rotated(this.b, 13n) ^ this.a;
    this.a = rotated(this.a, 32n);
    this.c = (this.c + this.d) & MASK;
    this.d = rotated(this.d, 16n) ^ this.c;
    this.a = (this.a + this.d) & MASK;
    this.d = rotated(this.d, 21n) ^ this.a;
    this.c = (this.c + this.b) & MASK;
    this.b = rotated(this.b, 17n) ^ this.c;
    this.c = rotated(this.c, 32n);
  }
}

function rotated(word: bigint, by: bigint): bigint {
  return ((word << by) | (word >> (64n - by))) & MASK;
}
