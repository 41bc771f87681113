/** A notification as a signal brings it, undecoded until its handler looks. */
import { type RawValue, rawValueTypeInfo } from '@temporalio/common';
import { defineSignal } from '@temporalio/workflow';
import { notificationSignal } from './messages.ts';

/**
 * The signal's arguments stay undecoded until the handler looks: a payload that cannot be decoded would
 * otherwise fail every workflow task from then on. The proxy says "raw" for however many arguments come.
 */
export const rawNotification = defineSignal<RawValue[]>(notificationSignal.name, {
  typeInfo: { inputTypes: new Proxy([], { get: () => rawValueTypeInfo }) },
});
