/** What one attempt to authorize is told. Updates, for the browser waits for the answer. */
import { defineUpdate } from '@temporalio/workflow';
import type { AuthorizationOutcome, CallBack } from '../domain/authorization.ts';

/** Where to send the browser; without `state`. */
export const linkUpdate = defineUpdate<string>('link');
/** The browser came back. Taken once, and only from the browser that began. */
export const callBackUpdate = defineUpdate<AuthorizationOutcome, [CallBack]>('callBack');
