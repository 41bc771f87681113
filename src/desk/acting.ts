/**
 * Runs the operations of the API for a person, so that their verbs, scopes and amounts are checked in one place. The
 * answers of the operations are read as the pages need them.
 */
import { z } from 'zod';
import type { Caller, Verb } from '../config/callers.ts';
import { storedResultSchema, storedStateSchema } from '../contract/payout.ts';
import { requireVerb } from '../service/permissions.ts';
import type { Operation } from '../starters/api/operation.ts';

/** Pages show a code that a newer worker writes as it is, and no field that they do not know. */
export type ShownState = z.output<typeof storedStateSchema>;

export const payoutAnswer = z.object({
  state: storedStateSchema,
  result: storedResultSchema.optional(),
});

export const payoutPageAnswer = z.object({
  payouts: z.array(
    z.object({
      ...{ partnerOrderId: z.string(), app: z.string(), phase: z.string(), outcome: z.string() },
      ...{ needsAttention: z.boolean(), orderId: z.string(), startedAt: z.string(), workflow: z.string() },
    }),
  ),
  nextCursor: z.string().optional(),
});

interface Input {
  params?: object;
  query?: object;
  body?: unknown;
}

export class Acting {
  private readonly operations: ReadonlyMap<string, Operation>;

  constructor(operations: readonly Operation[]) {
    this.operations = new Map(operations.map((one) => [`${one.method} ${one.path}`, one]));
  }

  /** `name`: method and path, such as `GET /v1/payouts`. Throws what the route throws. */
  async run(caller: Caller, name: string, { params = {}, query = {}, body }: Input = {}): Promise<unknown> {
    const one = this.operations.get(name);
    if (!one) throw new Error(`there is no operation ${name}`);
    requireVerb(caller, one.verb);
    return one.run({ caller, params, query, body, gone: new AbortController().signal });
  }
}

export function may({ verbs }: Caller, verb: Verb): boolean {
  return verbs.includes(verb);
}
