import { SluiceError } from '../errors/error.ts';
import type { OsDriver } from './driver.ts';

/**
 * The `none` driver: a host whose operating system is no image, such as a Debian of a kubeadm cluster. It holds content
 * and answers as every node; an OS image that it is given it refuses, with words.
 */
export function noImageDriver(): OsDriver {
  const refuse = async (): Promise<never> => {
    throw new SluiceError(
      'NotFound',
      'this host was not booted by rpm-ostree or bootc, so it takes no OS image',
      {
        next: 'Update its system by other means, or leave the OS image out of the bundle.',
      },
    );
  };
  return { name: 'none', rebootsHost: false, status: async () => ({}), stage: refuse, finalize: refuse };
}
