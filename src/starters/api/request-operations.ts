/** The routes that payouts and receiving account requests have in common: their state, and decisions about them. */
import { z } from 'zod';
import type { WaitOptions } from '../../client/until-end.ts';
import type { Caller, Verb } from '../../config/callers.ts';
import { wholeNumber } from './bodies.ts';
import type { Clients } from './clients.ts';
import { rejectedStart } from './error-mapping.ts';
import { appQuery, noBody, type Operation, operation } from './operation.ts';
import { wait } from './waits.ts';

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

interface Read<P extends z.ZodObject> {
  look(ref: Ref<P>): Promise<unknown>;
  untilEnd(ref: Ref<P>, options: WaitOptions): Promise<void>;
  /** Throws if there is no such workflow, or the caller may not read it. */
  authorize(ref: Ref<P>, caller: Caller): Promise<unknown>;
}

/** Gets the state and, after the end, the result. */
export function snapshotOperation<P extends z.ZodObject>(
  { waits, withTemporalDeadline }: Clients,
  { name, path, params, state, result }: Kind<P>,
  { look, untilEnd, authorize }: Read<P>,
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
    async ({ caller, gone, params: id, query: { app, wait: waitMs } }) => {
      const ref = { ...id, app };
      await withTemporalDeadline(() => authorize(ref, caller));
      await waits.until(waitMs, gone, (options) => untilEnd(ref, options));
      return withTemporalDeadline(() => look(ref).catch(rejectedStart));
    },
  );
}

interface Decision<P extends z.ZodObject, B extends z.ZodType> {
  verb: Verb;
  summary: string;
  body: B;
  /** Throws if there is no such workflow, or the caller may not decide about it. */
  authorize(ref: Ref<P>, caller: Caller): Promise<unknown>;
  send(ref: Ref<P>, by: string, body: z.output<B>): Promise<unknown>;
}

/** Sends an update, recorded under the name of the caller's key, and returns the new state. */
export function decisionOperation<P extends z.ZodObject, B extends z.ZodType>(
  { withTemporalDeadline, withProviderDeadline }: Clients,
  { name, path, params, state }: Kind<P>,
  { verb, summary, body, authorize, send }: Decision<P, B>,
): Operation {
  return operation(
    {
      ...{ method: 'POST', path: `${path}/${verb}`, verb, summary },
      response: { status: 200, description: 'Accepted; the new state', schema: state },
      problems: { 404: `no such ${name}`, 409: 'not accepted now; detail says why' },
    },
    { params, query: appQuery, body },
    async ({ caller, params: id, query, body: decision }) => {
      const ref = { ...id, ...query };
      await withTemporalDeadline(() => authorize(ref, caller));
      return withProviderDeadline(() => send(ref, caller.name, decision));
    },
  );
}
