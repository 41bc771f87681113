/** Every edge by name. */
import type { Edge } from './edge.ts';
import { api } from './edges/api.ts';
import { codecs } from './edges/codec.ts';
import { desk } from './edges/desk.ts';
import { files } from './edges/files.ts';
import { notifications } from './edges/notifications.ts';
import { wire } from './edges/wire.ts';
import { type Order, type Report, type RunOptions, runEdge } from './run-edge.ts';

type Run = (order: Order, options?: RunOptions) => Promise<Report>;

/** Hides the input type, which differs between edges. */
export const EDGES: ReadonlyMap<string, Run> = new Map([
  named(notifications),
  named(api),
  named(desk),
  named(files),
  named(wire),
  named(codecs),
]);

function named<I>(edge: Edge<I>): [string, Run] {
  return [edge.name, (order, options) => runEdge(edge, order, options)];
}
