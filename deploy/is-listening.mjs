/** `node is-listening.mjs PORT`: a health check for images without curl or nc. */
import { connect } from 'node:net';

const socket = connect(Number(process.argv[2]), '127.0.0.1');
socket.once('connect', () => process.exit(0));
socket.once('error', () => process.exit(1));
