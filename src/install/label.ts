import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { run } from '../process/run.ts';

/** There where the kernel judges by labels. */
const selinuxMark = '/sys/fs/selinux/enforce';

/** Gives a file of the host the label of a program. Errors: CommandFailed. */
export type Label = (path: string) => Promise<void>;

/**
 * By the host's own program; nothing where it has no SELinux. What lies below /var/lib is `var_lib_t`, which systemd may
 * not execute ("203/EXEC").
 */
export function labelOf(root: string): Label {
  return async (path) => {
    if (!existsSync(join(root, selinuxMark))) return;
    const { code, stderr } = await run('chroot', [root, 'chcon', '-t', 'bin_t', path], { timeoutMs: 10_000 });
    if (code === 0) return;
    throw new SluiceError('CommandFailed', `chcon -t bin_t ${path}: ${stderr.trim()}`, {
      next: 'This host has SELinux, and its systemd is not let to start the program without that label.',
    });
  };
}
