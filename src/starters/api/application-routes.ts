/** The stop switch of an application, and the links with which users authorize it. */
import { z } from 'zod';
import { appName } from '../../contract/fields.ts';
import { pauseSchema } from '../../contract/rate-limit.ts';
import { admittedCaller } from '../../http/authentication.ts';
import { pauseReason } from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, noBody } from './routes.ts';

const params = z.strictObject({ app: appName });
const application = z.strictObject({
  app: z.string(),
  paused: pauseSchema.nullable().describe('who paused the application, and when; null if it is not paused'),
});
const authorizeLink = z.strictObject({
  app: z.string(),
  url: z.url().describe('Leads a browser to the authorization page of the provider. Works once'),
  expiresAt: z.iso.datetime().describe('When the link stops working'),
});

const problems = { 404: 'no worker has served the application' };
const responses = (description: string) => ({ 200: { description, schema: application } });

export function applicationRoutes(api: Api, service: Service): void {
  api.post('/v1/authorizations', {
    config: { verb: 'authorize' },
    schema: {
      summary: "Issue a link that leads a user's browser to the provider's authorization page. It works once",
      body: z.strictObject({ app: appName.default('default') }),
      responses: { 201: { description: 'The link, and when it expires', schema: authorizeLink } },
      problems: { 501: 'this API server has no PAYOUTS_AUTHORIZATION_KEYS' },
    },
    handler: async (request) => {
      const { app } = request.body;
      const { url, expiresAtMs } = await service.authorizationLink(admittedCaller(request), app);
      return { app, url: url.toString(), expiresAt: new Date(expiresAtMs).toISOString() };
    },
  });

  api.get('/v1/applications/:app', {
    config: { verb: 'read' },
    schema: {
      summary: 'Show whether an application is paused',
      params,
      responses: responses('The application'),
      problems,
    },
    handler: (request) => service.application(admittedCaller(request), request.params.app),
  });

  api.post('/v1/applications/:app/pause', {
    config: { verb: 'pause' },
    schema: {
      summary:
        'Stop all create calls of an application. After the response, a create call may still be sent for 1.3 s',
      params,
      body: pauseReason,
      responses: responses('The application is paused, or was already'),
      problems,
    },
    handler: (request) => service.pause(admittedCaller(request), request.params.app, request.body),
  });

  api.post('/v1/applications/:app/resume', {
    config: { verb: 'pause' },
    schema: {
      summary: 'End the pause of an application. The payouts that wait continue within a minute',
      params,
      body: noBody,
      responses: responses('The application is not paused'),
      problems,
    },
    handler: (request) => service.resume(admittedCaller(request), request.params.app),
  });
}
