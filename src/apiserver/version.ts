/**
 * The version of Kubernetes whose API this is the subset of. kubectl compares itself with it; the name behind the
 * plus says that it is not the real one.
 */
export const versionInfo = {
  major: '1',
  minor: '34',
  gitVersion: 'v1.34.0+sluice',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
} as const;
