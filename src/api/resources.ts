import type { KubeObject } from './core.ts';
export interface ClusterVersion extends KubeObject {}
export interface ClusterOperator extends KubeObject {}
export interface ImageDigestMirrorSet extends KubeObject {}
export interface InternalReleaseImage extends KubeObject {}
export interface MachineConfigNode extends KubeObject {}
export interface UpdatePreflight extends KubeObject {}
export interface NodeUpdate extends KubeObject {}
export interface FleetLockGroup extends KubeObject {}
