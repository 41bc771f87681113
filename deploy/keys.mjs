/**
 * `node deploy/keys.mjs FOLDER`: makes the keys and certificates of a topology, once. Each program has a subfolder with
 * what it may read, and no more. What exists already stays, so that it may run any number of times.
 *
 * For trials. In production, keys come from a secret store, and certificates from your certificate authority.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

/** The name in the certificate of every Temporal process, whatever its address. */
export const TEMPORAL_SERVER_NAME = 'temporal';

const CLIENT = ['ca.crt', 'tls.crt', 'tls.key'];
/** The files of each program. */
export const FILES = {
  temporal: ['ca.crt', 'node.crt', 'node.key'],
  'temporal-client': CLIENT,
  worker: [
    ...CLIENT,
    'payouts-encryption-keys',
    'payouts-token-keys',
    'payouts-authorization-keys',
    'payouts-search-keys',
  ],
  api: [
    ...CLIENT,
    'payouts-encryption-keys',
    'payouts-authorization-keys',
    'payouts-search-keys',
    'payouts-desk-session-keys',
    'callers.json',
  ],
  'codec-server': ['payouts-encryption-keys', 'payouts-codec-keys'],
  prometheus: ['metrics-key'],
  operator: [
    ...CLIENT,
    'payouts-encryption-keys',
    'payouts-search-keys',
    'starter-key',
    'approver-key',
    'codec-key',
  ],
};

/** The last file that is written: with it, the folder is complete. */
const LAST = join('operator', 'codec-key');

/** @param {string} folder */
export function makeKeys(folder) {
  if (existsSync(join(folder, LAST))) return;
  const made = mkdtempSync(join(tmpdir(), 'payouts-keys-'));
  try {
    makeCertificates(made);
    makeSecrets(made);
    for (const [program, files] of Object.entries(FILES)) {
      mkdirSync(join(folder, program), { recursive: true });
      for (const file of files) {
        // A file that an interrupted run left is not writable.
        rmSync(join(folder, program, file), { force: true });
        copyFileSync(join(made, file), join(folder, program, file));
      }
    }
  } finally {
    // With the key of the certificate authority: nobody signs with it again.
    rmSync(made, { recursive: true });
  }
}

/** @param {string} folder */
function makeCertificates(folder) {
  /** @param {string[]} args */
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  /**
   * @param {string} name
   * @param {string[]} args
   */
  const certificate = (name, ...args) =>
    openssl(
      ...['req', '-x509', '-days', '3650', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
      ...['-keyout', `${name}.key`, '-out', `${name}.crt`, ...args],
    );
  const extensions = (/** @type {string[]} */ ...lines) => lines.flatMap((line) => ['-addext', line]);
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key'];
  certificate('ca', '-subj', '/CN=durable-payouts topology', ...extensions('keyUsage=critical,keyCertSign'));
  certificate(
    'node',
    ...['-subj', `/CN=${TEMPORAL_SERVER_NAME}`, ...signed],
    ...extensions(
      'basicConstraints=critical,CA:FALSE',
      `subjectAltName=DNS:${TEMPORAL_SERVER_NAME},DNS:localhost,IP:127.0.0.1`,
      'extendedKeyUsage=serverAuth,clientAuth',
    ),
  );
  certificate(
    'tls',
    ...['-subj', '/CN=durable-payouts', ...signed],
    ...extensions('basicConstraints=critical,CA:FALSE', 'extendedKeyUsage=clientAuth'),
  );
}

/** @param {string} name */
function encryptionKey(name) {
  return `${name}:${randomBytes(32).toString('base64')}`;
}

/** @param {string} folder */
function makeSecrets(folder) {
  const secret = () => randomBytes(32).toString('base64url');
  const starterKey = secret();
  const approverKey = secret();
  const metricsKey = secret();
  const codecKey = secret();
  const largestAmount = { CNY: '100000.00', USD: '100000.00' };
  const applications = ['default'];
  const caller = (/** @type {string} */ name, /** @type {string} */ key, /** @type {string[]} */ verbs) => ({
    name,
    keySha256: [createHash('sha256').update(key).digest('hex')],
    applications,
    verbs,
    largestAmount,
  });
  const callers = [
    caller('starter', starterKey, ['start', 'read', 'cancel', 'poll', 'batch', 'quote', 'account']),
    caller('approver', approverKey, ['read', 'approve', 'refuse', 'cancel', 'resolve', 'poll']),
    caller('prometheus', metricsKey, ['metrics']),
  ];
  const secrets = {
    'payouts-encryption-keys': encryptionKey('k1'),
    'payouts-token-keys': encryptionKey('k1'),
    'payouts-authorization-keys': encryptionKey('k1'),
    'payouts-search-keys': encryptionKey('k1'),
    'payouts-desk-session-keys': encryptionKey('s1'),
    'payouts-codec-keys': `operator:${codecKey}`,
    'callers.json': JSON.stringify(callers, null, 2),
    'starter-key': starterKey,
    'approver-key': approverKey,
    'metrics-key': metricsKey,
    'codec-key': codecKey,
  };
  // Prometheus runs as another user, and its folder is its own.
  for (const [name, text] of Object.entries(secrets))
    writeFileSync(join(folder, name), text, { mode: name === 'metrics-key' ? 0o444 : 0o400 });
}

/**
 * @param {string} folder
 * @param {keyof typeof FILES} program
 * @param {string} file
 */
export function readKey(folder, program, file) {
  return readFileSync(join(folder, program, file), 'utf8').trim();
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = argv.slice(2);
  if (folder === undefined) throw new Error('usage: node deploy/keys.mjs FOLDER');
  makeKeys(folder);
}
