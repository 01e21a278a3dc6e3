import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is read of a package in package-lock.json, and in the same words in node_modules/.package-lock.json. */
interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

function packagesOf(path: string): Record<string, LockedPackage> {
  if (!existsSync(path)) return {};
  return (
    (JSON.parse(readFileSync(path, 'utf8')) as { packages?: Record<string, LockedPackage> }).packages ?? {}
  );
}

/**
 * Whether the packages of package-lock.json are there, whoever had npm install them: at the end of each installation
 * npm writes what it laid into node_modules. What is optional may be absent, since most of it is for other machines.
 */
function installed(root: string, withoutDev: boolean): boolean {
  const there = packagesOf(join(root, 'node_modules/.package-lock.json'));
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    // The row without a path is the product itself.
    if (path === '' || (withoutDev && wanted.dev)) return true;
    const found = there[path];
    if (found === undefined) return wanted.optional === true;
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) return false;
    // An installation that was broken off may leave the list of the one before it.
    return existsSync(join(root, path, 'package.json'));
  });
}

// For tests/install.sh, in the root of the product: exit code 0 where npm need not run, with its words.
process.exitCode = installed(process.cwd(), process.argv.includes('--omit=dev')) ? 0 : 1;
