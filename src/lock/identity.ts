import { createHmac } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';

/** By which our own agents tell their boot, beside what the protocol asks for. */
export const bootHeader = 'sluice-boot-id';

/** The application id that zincati derives its node id with, so that both know a node by the same id. */
const applicationId = 'de35106b6ec24688b63afddaa156679b';

/**
 * The id of a node in the fleet lock: the application-specific machine id of sd_id128_get_machine_app_specific(3).
 *
 * @param machineId 32 hexadecimal digits, dashes allowed. Errors: InputInvalid.
 */
export function lockIdOf(machineId: string): string {
  const hex = machineId.trim().replaceAll('-', '').toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(hex)) {
    throw new SluiceError('InputInvalid', `'${machineId.slice(0, 64)}' is not a machine id`);
  }
  const id = createHmac('sha256', Buffer.from(hex, 'hex'))
    .update(Buffer.from(applicationId, 'hex'))
    .digest()
    .subarray(0, 16);
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
  return id.toString('hex');
}
