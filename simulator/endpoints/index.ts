import type { Operation } from '../http/operation.ts';
import { createCnyOrder, queryDetail } from './payout.ts';
import { fee } from './quote.ts';
import { receivingAccountBalance, receivingAccountCreate, receivingAccountDetail } from './receiving.ts';
import { httpbin, oauthToken, token } from './tokens.ts';
import { accountQuery, queryPayDetail, queryResult } from './trade.ts';

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
