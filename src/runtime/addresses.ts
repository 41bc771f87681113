/** Addresses of clients, and the networks that settings list. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const MAX_ADDRESS_LENGTH = 64;

/**
 * The network of a client's address, as the key of its bucket: one host usually has a whole /64 of IPv6. A client that has
 * disconnected has no address.
 */
export function networkOf(address = ''): string {
  if (!isIPv6(address)) return address.slice(0, MAX_ADDRESS_LENGTH);
  // An IPv4 address in IPv6 form becomes the IPv4 address.
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** Whether an address is one of these, or in one of these networks. An IPv4 address may come in IPv6 form. */
export function membersOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  // A proxy may forward anything as an address.
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
