/** Payouts, token renewals and authorizations with every canary, and every fault that produces an error message. */

import { request } from 'undici';
import type { FaultInput } from '../../simulator/index.ts';
import { type ReceivingAccountRef, ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import type { ReceivingAccountState } from '../../src/contract/receiving-account.ts';
import { renewUpdate } from '../../src/contract/workflows.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { newLink } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { CANARIES, QUOTING_MESSAGE, withCanaries } from './canaries.ts';
import type { CanaryStage } from './stage.ts';

/** Every kind of fault that produces an error message. */
export const ALL_FAULTS: FaultInput[] = [
  { kind: 'drop-before' },
  { kind: 'drop-after' },
  { kind: 'status', status: 500, body: QUOTING_MESSAGE },
  { kind: 'status', status: 429, body: QUOTING_MESSAGE },
  { kind: 'envelope', code: 900_000, message: QUOTING_MESSAGE },
  { kind: 'envelope', code: 900_002, message: QUOTING_MESSAGE },
  { kind: 'envelope', code: QUOTING_MESSAGE, message: QUOTING_MESSAGE },
  { kind: 'garbage' },
  { kind: 'html-502' },
  { kind: 'cut-body' },
  { kind: 'redirect-307', location: `/${CANARIES.accountNumber}?secret=${CANARIES.appSecret}` },
  { kind: 'data-null' },
];
/** The faults that quote the most. */
export const FEW_FAULTS: FaultInput[] = ALL_FAULTS.filter((_, at) => at % 4 === 2);
const OPERATIONS = ['accountQuery', 'fee', 'createCnyOrder', 'queryResult', 'queryPayDetail'] as const;

const canaryRequest = (scenario: string, over: Partial<PayoutRequest> = {}) =>
  withCanaries(payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over }));

export async function plant(stage: CanaryStage, faults: FaultInput[]): Promise<void> {
  const openings = await accounts(stage, faults);
  await payouts(stage, faults);
  await approval(stage);
  await badInput(stage);
  await tokens(stage, faults);
  await notifications(stage);
  await openings();
}

/** One payout for each call and each fault. The fault has struck once the payout has ended or needs a person. */
async function payouts({ simulator, payouts: starter }: CanaryStage, faults: FaultInput[]): Promise<void> {
  const begun = [];
  for (const operation of OPERATIONS)
    for (const fault of faults) {
      simulator.control.addFault({ operation, times: 1, fault });
      // Each has its own client, so that they do not share the account check.
      begun.push(await starter.start(canaryRequest('success final=0s', { clientId: newPartnerOrderId() })));
    }
  for (const ref of begun)
    await eventually(async () => {
      const { status } = await starter.handle(ref).describe();
      return status.name !== 'RUNNING' || (await starter.state(ref)).needsAttention || undefined;
    });
  simulator.control.removeFaults();
  await starter.result(await starter.start(canaryRequest('failure final=0s')));
}

async function approval({ payouts: starter, simulator }: CanaryStage): Promise<void> {
  const ref = await starter.start(canaryRequest('success final=0s', { approval: 'required' }));
  await eventually(async () => (await starter.state(ref)).phase === 'AWAITING_APPROVAL' || undefined);
  await starter.approve(ref, { by: 'olga', note: CANARIES.note });
  await starter.result(ref);
  simulator.control.removeFaults();
}

/** One receiving account for each call and each fault. Returns functions that wait for the results. */
async function accounts(
  { simulator, client }: CanaryStage,
  faults: FaultInput[],
): Promise<() => Promise<void>> {
  const starter = new ReceivingAccounts({ client, environment: 'test' });
  const begun: ReceivingAccountRef[] = [];
  for (const operation of ['receivingAccountBalance', 'receivingAccountCreate'] as const)
    for (const fault of faults) {
      simulator.control.addFault({ operation, times: 1, fault });
      const personal = { payerId: CANARIES.accountNumber, monthSaleVolume: CANARIES.idCardNumber };
      const usages = [CANARIES.accountName];
      begun.push(
        await starter.open({ requestId: newPartnerOrderId(), currency: 'USD', usages, ...personal }),
      );
    }
  const all = async (there: (state: ReceivingAccountState) => boolean): Promise<void> => {
    for (const ref of begun) await eventually(async () => there(await starter.state(ref)) || undefined);
  };
  await all(({ phase }) => phase !== 'CHECKING' && phase !== 'OPENING');
  return () => all(({ phase, needsAttention }) => phase === 'DONE' || needsAttention);
}

/** Rejected by our library, and by the workflow for callers that do not use the library. */
async function badInput({ client, environment, said }: CanaryStage): Promise<void> {
  const good = canaryRequest('success');
  const { accountNumber } = CANARIES;
  const bad = {
    ...good,
    clientId: `${accountNumber}'`,
    instructedAmount: { currency: accountNumber, amount: accountNumber },
    unknownField: accountNumber,
    receiver: { ...good.receiver, bankAccountName: `${CANARIES.accountName.repeat(30)}`, bankCountry: 7 },
  };
  for (const flags of [[], ['--json']]) {
    const answer = await cli(environment, ['start', '-', ...flags], JSON.stringify(bad));
    said.push(answer.stdout, answer.stderr);
  }
  const workflowId = `payout:default:${good.partnerOrderId}`;
  const raw = await client.workflow.start('payout', { taskQueue: 'payouts', workflowId, args: [bad] });
  await raw
    .result()
    .catch((error: unknown) => said.push(String(error), String(error instanceof Error && error.cause)));
}

async function tokens(stage: CanaryStage, faults: FaultInput[]): Promise<void> {
  const { simulator, client } = stage;
  const renew = (openId?: string) =>
    client.workflow.getHandle(tokenWorkflowId('default', openId)).executeUpdate(renewUpdate);
  for (const fault of faults) {
    simulator.control.addFault({ operation: 'token', times: 1, fault });
    await renew();
  }
  for (const fault of faults) {
    await requestCallback(stage, 'seller-faults', [fault]);
    simulator.control.removeFaults();
  }
  await requestCallback(stage, 'seller-1', []);
  for (const fault of faults) {
    simulator.control.addFault({ operation: 'oauthToken', times: 1, fault });
    await renew('seller-1').catch((error: unknown) => stage.said.push(String(error)));
    simulator.control.removeFaults();
    await requestCallback(stage, 'seller-1', []);
  }
}

/** One authorization through the API server, as a browser performs it. */
async function requestCallback(stage: CanaryStage, openId: string, faults: FaultInput[]): Promise<void> {
  const { apiUrl, simulator, said } = stage;
  const begun = await request(await newLink(apiUrl));
  await begun.body.dump();
  const state = new URL(String(begun.headers['location'])).searchParams.get('state') ?? '';
  const cookie = String(begun.headers['set-cookie']).split(';')[0] ?? '';
  const { code } = simulator.control.authorize({ appId: 'demo-app', openId });
  for (const fault of faults) simulator.control.addFault({ operation: 'oauthToken', times: 1, fault });
  for (const query of [
    { state, code },
    { state, code },
    { state: code, code },
    { error: code, code },
  ]) {
    const url = `${apiUrl}/v1/oauth/default/callback?${new URLSearchParams(query)}`;
    const answer = await request(url, { headers: { cookie } });
    said.push(JSON.stringify(answer.headers), await answer.body.text());
  }
}

async function notifications({ apiUrl, said, payouts: starter }: CanaryStage): Promise<void> {
  const ref = await starter.start(canaryRequest('success final=1s'));
  const bodies = [
    JSON.stringify({ partner_order_id: ref.partnerOrderId, extra: CANARIES.notificationBody }),
    `{"${CANARIES.notificationBody}`,
    'x'.repeat(70_000) + CANARIES.notificationBody,
  ];
  for (const body of bodies) {
    const url = `${apiUrl}/v1/notifications/default?${CANARIES.notificationBody}`;
    const headers = { 'content-type': 'application/json', authorization: CANARIES.notificationSecret };
    const answer = await request(url, { method: 'POST', headers, body });
    said.push(JSON.stringify(answer.headers), await answer.body.text());
  }
  // The simulator sends the genuine ones.
  await starter.result(ref);
}
