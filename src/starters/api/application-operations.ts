/** The stop switch of an application. */
import { z } from 'zod';
import { appName, text } from '../../contract/fields.ts';
import { pauseSchema } from '../../contract/rate-limit.ts';
import { MAX_REASON_LENGTH } from '../../domain/rate-limit.ts';
import type { Service } from '../../service/service.ts';
import { empty, noBody, type Operation, operation } from './operation.ts';

const params = z.strictObject({ app: appName });
export const applicationAnswer = z.strictObject({
  app: z.string(),
  paused: pauseSchema.nullable().describe('who paused the application, and when; null if it is not paused'),
});
const response = (description: string) => ({ status: 200, description, schema: applicationAnswer });
const problems = { 404: 'no worker has served the application' };

export function applicationOperations(service: Service): Operation[] {
  return [
    operation(
      {
        ...{ method: 'GET', path: '/v1/applications/{app}', verb: 'read', problems },
        summary: 'Show whether an application is paused',
        response: response('The application'),
      },
      { params, query: empty, body: noBody },
      ({ caller, params: { app } }) => service.application(caller, app),
    ),
    operation(
      {
        ...{ method: 'POST', path: '/v1/applications/{app}/pause', verb: 'pause', problems },
        summary:
          'Stop all create calls of an application. After the response, a create call may still be sent for 1.3 s',
        response: response('The application is paused, or was already'),
      },
      {
        ...{ params, query: empty },
        body: z.strictObject({ reason: text(MAX_REASON_LENGTH).optional() }).optional(),
      },
      ({ caller, params: { app }, body }) => service.pause(caller, app, body),
    ),
    operation(
      {
        ...{ method: 'POST', path: '/v1/applications/{app}/resume', verb: 'pause', problems },
        summary: 'End the pause of an application. The payouts that wait continue within a minute',
        response: response('The application is not paused'),
      },
      { params, query: empty, body: noBody },
      ({ caller, params: { app } }) => service.resume(caller, app),
    ),
  ];
}
