import type { Operation } from '../http/operation.ts';
import {
  httpbin,
  oauthToken,
  receivingAccountBalance,
  receivingAccountCreate,
  receivingAccountDetail,
  token,
} from './accounts.ts';
import { accountQuery, createCnyOrder, fee, queryDetail, queryPayDetail, queryResult } from './payouts.ts';

/** Every operation of the spec except the authorization page, which is for people. */
export const operations: readonly Operation[] = [
  oauthToken,
  token,
  httpbin,
  receivingAccountCreate,
  receivingAccountBalance,
  receivingAccountDetail,
  fee,
  createCnyOrder,
  queryDetail,
  queryResult,
  queryPayDetail,
  accountQuery,
];
