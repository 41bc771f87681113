/** The routes that payouts and receiving account requests have in common: their state, and decisions about them. */
import { z } from 'zod';
import type { Caller, Verb } from '../../config/callers.ts';
import type { Waiting } from '../../service/waits.ts';
import { wholeNumber } from './bodies.ts';
import { appQuery, noBody, type Operation, operation, wait } from './operation.ts';

/** The `sends` of a resolution that says that nothing was created. */
export const seenSends = wholeNumber()
  .optional()
  .describe('sends of the state that was read: the decision does not count after another send');

interface Kind<P extends z.ZodObject> {
  /** Such as `payout`, for descriptions and errors. */
  name: string;
  path: string;
  params: P;
  state: z.ZodType;
  result: z.ZodType;
}

type Ref<P extends z.ZodObject> = z.output<P> & z.output<typeof appQuery>;

/** Gets the state and, after the end, the result. */
export function snapshotOperation<P extends z.ZodObject>(
  { name, path, params, state, result }: Kind<P>,
  read: (caller: Caller, id: Ref<P>, waiting: Waiting) => Promise<unknown>,
): Operation {
  const schema = z.strictObject({ state, result: result.exactOptional() });
  return operation(
    {
      ...{ method: 'GET', path, verb: 'read', waits: true },
      summary: `Get the state of a ${name} and, after its end, its result`,
      response: { status: 200, description: 'The state and, after the end, the result', schema },
      problems: {
        404: `no such ${name}`,
        409: 'the start was rejected as bad input; errors has the fields',
      },
    },
    { params, query: appQuery.extend({ wait }), body: noBody },
    ({ caller, gone, params: id, query: { app, wait: forMs } }) =>
      read(caller, { ...id, app }, { forMs, gone }),
  );
}

interface Decision<P extends z.ZodObject, B extends z.ZodType> {
  verb: Verb;
  summary: string;
  body: B;
  decide(caller: Caller, id: Ref<P>, body: z.output<B>): Promise<unknown>;
}

/** Returns the new state. */
export function decisionOperation<P extends z.ZodObject, B extends z.ZodType>(
  { name, path, params, state }: Kind<P>,
  { verb, summary, body, decide }: Decision<P, B>,
): Operation {
  return operation(
    {
      ...{ method: 'POST', path: `${path}/${verb}`, verb, summary },
      response: { status: 200, description: 'Accepted; the new state', schema: state },
      problems: { 404: `no such ${name}`, 409: 'not accepted now; detail says why' },
    },
    { params, query: appQuery, body },
    ({ caller, params: id, query, body: decision }) => decide(caller, { ...id, ...query }, decision),
  );
}
