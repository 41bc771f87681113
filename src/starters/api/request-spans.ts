/** A span for each HTTP request, in the trace of the caller if its `traceparent` names one. */
import type { FastifyInstance } from 'fastify';
import { isTraceParent, type Span } from '../../observability/trace.ts';
import { isTracing, startSpan, within } from '../../observability/tracing.ts';
import { routeOf } from './metrics.ts';

export function requestSpans(server: FastifyInstance): void {
  if (!isTracing()) return;
  const open = new WeakMap<object, Span>();
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const route = routeOf(request);
    const span = startSpan({
      ...{ name: `${request.method} ${route}`, kind: 'server' },
      parent: isTraceParent(traceparent) ? traceparent : undefined,
      attributes: {
        ...{ 'http.request.method': request.method, 'http.route': route },
        'payouts.request.id': request.id,
      },
    });
    if (!span) return done();
    open.set(request, span);
    within(span, done);
  });
  server.addHook('onResponse', async (request, { statusCode }) => {
    const problem = statusCode >= 500 ? `HTTP_${statusCode}` : undefined;
    open.get(request)?.end({ 'http.response.status_code': statusCode }, problem);
  });
}
